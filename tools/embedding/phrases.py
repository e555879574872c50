"""Texts of our own in the language of tools and tasks: who does what, to what, where.

A domain is a row of verbs and a row of things; their combinations are short, true to the language and
many. They need not make sense: the teacher says what they mean.
"""

import random

PER_DOMAIN = 800

DOMAINS = {
    "web": ("scrape,crawl,fetch,render,screenshot,index,archive,monitor,parse,browse",
            "web pages,product listings,HTML tables,sitemaps,search results,news articles,forum threads,RSS feeds,cookies and forms,broken links"),
    "data": ("clean,deduplicate,join,aggregate,validate,profile,import,export,transform,anonymise",
             "CSV files,spreadsheets,customer records,parquet datasets,time series,survey answers,JSON documents,event logs,missing values,a data warehouse"),
    "databases": ("query,migrate,back up,tune,index,replicate,restore,design,shard,inspect",
                  "a Postgres database,slow SQL queries,schemas,stored procedures,MySQL tables,a Redis cache,foreign keys,transactions,a MongoDB collection,query plans"),
    "code": ("review,refactor,debug,write,generate,compile,lint,document,explain,port",
             "Python code,pull requests,TypeScript modules,unit tests,a legacy code base,merge conflicts,API clients,stack traces,regular expressions,Rust crates"),
    "testing": ("test,fuzz,reproduce,automate,verify,simulate,stress,cover,flag,bisect",
                "the login flow,flaky tests,regressions,a user interface,load on the server,edge cases,browser compatibility,a bug report,a release candidate,mobile apps"),
    "operations": ("deploy,roll back,monitor,scale,restart,provision,patch,page,drain,diagnose",
                   "Kubernetes clusters,Docker containers,virtual machines,an outage,CI pipelines,on-call alerts,Terraform modules,disk usage,a load balancer,cloud costs"),
    "security": ("scan,audit,rotate,detect,block,encrypt,investigate,harden,triage,revoke",
                 "vulnerabilities,leaked passwords,access logs,phishing mail,malware,TLS certificates,API keys,user permissions,an intrusion,open ports"),
    "networks": ("configure,trace,route,measure,filter,troubleshoot,tunnel,map,resolve,throttle",
                 "DNS records,firewall rules,packet loss,a VPN,wireless access points,bandwidth,switches and routers,IP addresses,latency between regions,proxies"),
    "office": ("schedule,reschedule,draft,file,minute,print,sort,forward,archive,remind about",
               "meetings,calendar invitations,meeting notes,the inbox,slide decks,travel plans,expense claims,office supplies,a shared drive,deadlines"),
    "writing": ("write,proofread,summarise,edit,shorten,rephrase,outline,translate,fact-check,headline",
                "blog posts,press releases,long reports,product descriptions,research papers,a newsletter,speeches,user manuals,a novel,grant applications"),
    "language": ("translate,localise,transcribe,caption,interpret,detect,transliterate,correct,simplify,subtitle",
                 "German contracts,Japanese subtitles,the spoken language,a phone call,grammar mistakes,multilingual web sites,podcast episodes,a dialect,technical terms,sign language"),
    "images": ("resize,crop,caption,retouch,generate,classify,compress,vectorise,segment,colourise",
               "product photos,logos,scanned documents,X-ray images,satellite images,profile pictures,icons,old photographs,posters,thumbnails"),
    "sound and video": ("edit,cut,mix,stream,transcode,record,compose,denoise,synchronise,subtitle",
                        "videos,podcasts,background music,voice recordings,live streams,trailers,audio tracks,interviews,screen recordings,animations"),
    "finance": ("forecast,reconcile,audit,book,invoice,estimate,approve,hedge,report,collect",
                "quarterly earnings,bank statements,expense reports,unpaid invoices,stock portfolios,tax returns,the monthly budget,cash flow,currency risk,payroll"),
    "sales": ("qualify,contact,segment,quote,upsell,convert,follow up with,retain,onboard,score",
              "leads,new customers,price quotes,the sales pipeline,abandoned carts,subscriptions,prospects,key accounts,trial users,discounts"),
    "marketing": ("plan,promote,measure,target,launch,optimise,advertise,survey,brand,rank",
                  "ad campaigns,social media posts,search keywords,landing pages,an audience,email campaigns,brand reputation,click rates,influencers,a product launch"),
    "support": ("answer,route,escalate,resolve,refund,apologise for,categorise,reply to,follow,close",
                "support tickets,customer complaints,chat messages,frequently asked questions,returns,warranty claims,late deliveries,password resets,angry callers,feature requests"),
    "law": ("review,redact,draft,compare,cite,file,interpret,negotiate,check,litigate",
            "contracts,non-disclosure agreements,patents,privacy policies,court rulings,compliance rules,terms of service,trademarks,leases,legal precedents"),
    "health": ("diagnose,monitor,schedule,prescribe,code,triage,screen,refer,track,counsel",
               "patient records,lab results,appointments,symptoms,drug interactions,medical claims,blood pressure,clinical trials,a care plan,vaccinations"),
    "logistics": ("ship,track,route,pack,dispatch,restock,customs-clear,deliver,consolidate,trace",
                  "parcels,delivery trucks,warehouse stock,containers,purchase orders,cold chain goods,pallets,the last mile,spare parts,freight"),
    "manufacturing": ("assemble,inspect,calibrate,maintain,machine,weld,plan,cut,paint,measure",
                      "production lines,defective parts,sensors,robots,raw materials,machine tools,quality samples,bills of material,safety equipment,prototypes"),
    "people": ("hire,interview,screen,train,appraise,pay,onboard,roster,mentor,survey",
               "job applicants,résumés,new employees,shift plans,salaries,holidays,performance reviews,a team,sick leave,courses"),
    "education": ("teach,grade,tutor,explain,quiz,plan,mark,supervise,adapt,recommend",
                  "homework,mathematics,exam papers,lesson plans,a foreign language,essays,science experiments,reading lists,children,online courses"),
    "science": ("analyse,model,simulate,measure,cite,sequence,plot,fit,replicate,annotate",
                "experimental data,protein structures,genomes,climate models,chemical reactions,astronomical images,statistical tests,literature,particle tracks,field samples"),
    "machine learning": ("train,evaluate,fine-tune,label,cluster,embed,classify,predict,prune,rank",
                         "neural networks,training data,customer churn,text embeddings,anomalies,recommendations,fraud,language models,speech,demand"),
    "travel": ("book,compare,cancel,plan,rent,map,reserve,recommend,guide,upgrade",
               "flights,hotel rooms,train tickets,rental cars,itineraries,restaurants,city tours,visas,road trips,travel insurance"),
    "home": ("cook,clean,repair,water,heat,light,secure,decorate,shop for,recycle",
             "dinner recipes,the garden,smart lamps,groceries,furniture,the heating,a leaking tap,pets,laundry,solar panels"),
    "government": ("register,license,inspect,tax,fund,regulate,map,consult,permit,enforce",
                   "building permits,elections,public transport,environmental rules,benefits,land records,census data,traffic,zoning plans,emergency services"),
    "energy and farming": ("forecast,meter,irrigate,harvest,generate,store,balance,breed,spray,drill",
                           "wind power,electricity demand,crops,soil moisture,batteries,the power grid,livestock,weather data,fertiliser,oil wells"),
    "property": ("value,let,list,survey,insure,renovate,lease,manage,finance,inspect",
                 "apartments,office buildings,mortgages,tenants,construction sites,floor plans,house prices,rent payments,maintenance work,claims"),
}

PLACES = ("", "", "", "", " for a small team", " every night", " and write a report", " in real time",
          " and alert the owner", " at scale", " from several sources", " before the release",
          " and keep a history", " for customers", " on request", " without downtime")


def phrases():
    chance = random.Random(11)
    for domain, (verbs, things) in DOMAINS.items():
        verbs, things = verbs.split(","), things.split(",")
        for _ in range(PER_DOMAIN):
            verb, thing, place = chance.choice(verbs), chance.choice(things), chance.choice(PLACES)
            other = chance.choice(things)
            form = chance.randrange(4)
            if form == 0:
                yield f"{verb} {thing}{place}", "phrase", ""
            elif form == 1:
                yield f"{verb} {thing} and {other}{place}", "phrase", ""
            elif form == 2:
                yield f"{verb} and {chance.choice(verbs)} {thing}{place}", "phrase", ""
            else:
                yield f"{domain}: {verb} {thing}, {chance.choice(verbs)} {other}", "phrase", ""


# How people put it when they do not name the task: a state of things, a question, a worry.
REQUESTS = (
    "how many {thing} did we {verb} last month", "my {thing} look wrong, find out why",
    "tell me whether the {thing} are ready", "who looks after {thing} here",
    "I have to {verb} {thing} by Friday", "we keep losing track of {thing}",
    "somebody has to {verb} these {thing} before we open", "what happened to {thing} yesterday",
    "our {thing} cost too much, what can we do", "is it safe to {verb} {thing} now",
    "nobody told me about {thing}", "show me {thing} that nobody has looked at for a year",
    "my boss wants {thing} on her desk tomorrow", "why does it take so long to {verb} {thing}",
    "the {thing} we got are not what we ordered", "make sure that {thing} are never late again",
    "put {thing} and {other} side by side", "I do not understand {thing}, explain them to me",
    "a customer asks about {thing}", "every morning I {verb} {thing} by hand",
    "let me know when {thing} change", "which of these {thing} should I {verb} first",
    "turn {thing} into {other}", "there are too many {thing}, keep only those that matter",
    "what will {thing} be like next year", "can we still {verb} {thing} after the deadline",
    "our office has no {thing} left", "somebody broke the {thing} and I cannot work",
    "how do I get {thing} from here to {other}", "give me a short version of {thing}",
)


def requests():
    chance = random.Random(13)
    for verbs, things in DOMAINS.values():
        verbs, things = verbs.split(","), things.split(",")
        for _ in range(PER_DOMAIN // 2):
            form = chance.choice(REQUESTS)
            yield form.format(verb=chance.choice(verbs), thing=chance.choice(things), other=chance.choice(things)), "request", ""
