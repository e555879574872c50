/** `arcp manifest`: what this implementation is and speaks, for machines. */
import { print } from "../../terminal/index.ts";
import { features, messageTypes, protocolVersion } from "../../wire/arcp/index.ts";
import { exits } from "../exits.ts";
import { version } from "../version.ts";

export async function manifest(): Promise<number> {
  const described = {
    name: "tipstaff",
    version,
    protocol_version: protocolVersion,
    features,
    message_types: messageTypes,
  };
  print(`${JSON.stringify(described, undefined, 2)}\n`);
  return exits.ok;
}
