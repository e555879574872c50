/** Every code has its status, and every error the same shape. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { RefusalCode } from "../../core/index.ts";
import type { ErrorBody, ErrorCode } from "../../wire/api/index.ts";
import { statusOf } from "../../wire/openapi/index.ts";
import type { Env } from "./door.ts";
import type { ApiRefusal } from "./operations.ts";

/** The core's `no_task` is no error here: the answer has no task. */
export const httpStatus: Readonly<
  Record<ErrorCode | Exclude<RefusalCode, "no_task">, ContentfulStatusCode>
> = statusOf;

export function errorBody(
  code: ErrorCode,
  message: string,
  more: Pick<ErrorBody["error"], "lease" | "question"> = {},
): ErrorBody {
  return { error: { code, message, ...more } };
}

export function refuse(context: Context<Env>, { code, message, ...more }: ApiRefusal): Response {
  if (code === "limit_reached") context.header("Retry-After", "5");
  if (code === "unavailable") context.header("Retry-After", "1");
  if (code === "token_required") context.header("WWW-Authenticate", "Bearer");
  return context.json(errorBody(code, message, more), httpStatus[code]);
}
