/** How `arcp` commands end: one line of what went wrong, and an exit code (ARCP-228). */
import { isARCPError, TransportError } from "../../client/arcp/index.ts";
import { printable, say } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import { Failure } from "../failure.ts";

/** Runs a command to its end. What is nobody's fault but ours goes on. */
export async function ending(command: string, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const { code, message, exit } = endOf(error);
    say(`arcp ${command}: ${printable(code)} ${printable(message)}\n`);
    return exit;
  }
}

type End = { readonly code: string; readonly message: string; readonly exit: number };

function endOf(error: unknown): End {
  if (error instanceof TransportError) {
    return { code: "UNREACHABLE", message: error.message, exit: exits.unreachable };
  }
  if (isARCPError(error)) {
    const { code, message } = error;
    return { code, message, exit: ofConnection.has(code) ? exits.unreachable : exits.no };
  }
  if (error instanceof Failure) {
    const message = [error.message, ...error.advice].join("; ");
    const isMistake = error.code === "mistake";
    if (isMistake) return { code: "INVALID_REQUEST", message, exit: exits.usage };
    return { code: "UNAVAILABLE", message, exit: exits.no };
  }
  if (error instanceof Error && /^(?:Log|Listen)Error$/.test(error.name) && "code" in error) {
    return { code: String(error.code).toUpperCase(), message: error.message, exit: exits.no };
  }
  throw error;
}

const ofConnection: ReadonlySet<string> = new Set(["UNAUTHENTICATED", "HEARTBEAT_LOST"]);
