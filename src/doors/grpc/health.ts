/** The standard health service: serving, until the door closes. */
import {
  frame,
  HealthCheckResponse,
  HealthDefinition,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../wire/grpc/index.ts";
import { serverStream, unary } from "./method.ts";
import type { Method } from "./server.ts";

/** `services` are the names that may be asked for; "" is the server as a whole. */
export function healthMethods<Connection>(services: readonly string[]): Method<Connection>[] {
  const { fullName, methods } = HealthDefinition;
  const known = new Set(["", ...services]);
  return [
    unary(fullName, methods.check, async ({ service }) =>
      known.has(service)
        ? { value: { status: ServingStatus.SERVING } }
        : { refusal: { code: "service_not_found", message: `unknown service ${service}` } },
    ),
    serverStream(fullName, methods.watch, async ({ service }, call) => {
      const status = known.has(service) ? ServingStatus.SERVING : ServingStatus.SERVICE_UNKNOWN;
      call.begin();
      await call.write(frame(HealthCheckResponse.encode({ status }).finish()));
      await new Promise<void>((resolve) => call.whenOver(resolve));
      return { status: "CANCELLED", message: "" };
    }),
  ];
}
