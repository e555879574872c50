/**
 * What this door answers when it does not serve a request. It passes on no commands, so none of the
 * core's refusals reach it; these are its own. A code is API: never renamed.
 */
import type { ContentfulStatusCode } from "hono/utils/http-status";

export type HttpErrorCode =
  | "invalid_argument"
  | "forbidden_origin"
  | "not_found"
  | "method_not_allowed"
  | "url_too_long"
  | "limit_reached"
  | "internal";

export const httpStatus: Readonly<Record<HttpErrorCode, ContentfulStatusCode>> = {
  invalid_argument: 400,
  forbidden_origin: 403,
  not_found: 404,
  method_not_allowed: 405,
  url_too_long: 414,
  /** Come back later. */
  limit_reached: 503,
  internal: 500,
};

export type ErrorBody = {
  readonly error: { readonly code: HttpErrorCode; readonly message: string };
};

export function errorBody(code: HttpErrorCode, message: string): ErrorBody {
  return { error: { code, message } };
}
