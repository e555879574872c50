/**
 * The names of things. Each is branded, so that handing one where another belongs does not compile.
 * The functions here only brand; whether a text is acceptable is checked at the door it came in by.
 */
declare const brand: unique symbol;
type Branded<Value, Name extends string> = Value & { readonly [brand]: Name };

export type AgentId = Branded<string, "AgentId">;
/** What a lease is held on, or the id of a queued task. A lease needs no queued task of that id. */
export type TaskId = Branded<string, "TaskId">;
export type GroupName = Branded<string, "GroupName">;
export type PolicyId = Branded<string, "PolicyId">;
/** Of an agent that was only seen: what it calls itself in the file that tells of it. */
export type ObservedId = Branded<string, "ObservedId">;

/** One run of an agent. */
export type JobId = Branded<string, "JobId">;
/** One caller's conversation, over as many connections as it takes. */
export type SessionId = Branded<string, "SessionId">;

/** Something that a job or an agent asks a person. */
export type QuestionId = Branded<string, "QuestionId">;

/** A fencing token. Of two holders of one task, the later has the larger token. */
export type Token = Branded<bigint, "Token">;
/** Counts the changes of leader of one group. */
export type Term = Branded<bigint, "Term">;

export const agentId = (text: string): AgentId => text as AgentId;
export const taskId = (text: string): TaskId => text as TaskId;
export const groupName = (text: string): GroupName => text as GroupName;
export const policyId = (text: string): PolicyId => text as PolicyId;
export const observedId = (text: string): ObservedId => text as ObservedId;
export const jobId = (text: string): JobId => text as JobId;
export const sessionId = (text: string): SessionId => text as SessionId;
export const questionId = (text: string): QuestionId => text as QuestionId;
export const token = (value: bigint): Token => value as Token;
export const term = (value: bigint): Term => value as Term;
