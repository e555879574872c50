import { render } from "preact";
import { App } from "./app.tsx";
import { startClock } from "./clock.ts";
import { startKeys } from "./keys.tsx";
import { startLive } from "./live.ts";
import { startRouting } from "./route.ts";
import { openSession } from "./session.ts";
import "./style/page.css";
import { startTheme } from "./theme.ts";

startTheme();
startClock();
startRouting();
startKeys();
// A page that came by a link is told more: nothing is asked before the link is used.
void openSession().finally(() => {
  render(<App />, document.body);
  startLive();
});
