/**
 * What our files declare, read from their descriptors: names and dependencies for reflection, and which
 * fields hold messages, for who must walk bytes without decoding them.
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { fileDescriptors } from "./gen/descriptors.ts";

export type DescribedFile = {
  readonly name: string;
  readonly bytes: Buffer;
  readonly dependencies: readonly string[];
  /** Full names of its messages, enums, services and methods. */
  readonly symbols: readonly string[];
};

/** Field numbers of google/protobuf/descriptor.proto. */
const fileFields = { package: 2, dependency: 3, message: 4, enum: 5, service: 6 } as const;
const messageFields = { field: 2, nestedMessage: 3, enum: 4 } as const;
const fieldFields = { number: 3, typeName: 6 } as const;
const serviceFields = { method: 2 } as const;
const nameField = 1;

export function describeFiles(): readonly DescribedFile[] {
  return fileDescriptors.map(([name, base64]) => {
    const bytes = Buffer.from(base64, "base64");
    const [packageName = ""] = fieldsOf(bytes, fileFields.package).map(String);
    const dependencies = fieldsOf(bytes, fileFields.dependency).map(String);
    return { name, bytes, dependencies, symbols: [...symbolsOf(bytes, packageName)] };
  });
}

function* symbolsOf(file: Buffer, packageName: string): Generator<string> {
  for (const message of fieldsOf(file, fileFields.message)) yield* inMessage(message, packageName);
  for (const choice of fieldsOf(file, fileFields.enum)) yield `${packageName}.${nameOf(choice)}`;
  for (const service of fieldsOf(file, fileFields.service)) {
    const serviceName = `${packageName}.${nameOf(service)}`;
    yield serviceName;
    for (const method of fieldsOf(service, serviceFields.method)) {
      yield `${serviceName}.${nameOf(method)}`;
    }
  }
}

function* inMessage(message: Buffer, scope: string): Generator<string> {
  const fullName = `${scope}.${nameOf(message)}`;
  yield fullName;
  for (const choice of fieldsOf(message, messageFields.enum)) yield `${fullName}.${nameOf(choice)}`;
  for (const nested of fieldsOf(message, messageFields.nestedMessage)) {
    yield* inMessage(nested, fullName);
  }
}

/** Of each message, by its full name: its fields that are messages (or enums), and of which type. */
export function describeMessages(): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const messages = new Map<string, ReadonlyMap<number, string>>();
  const add = (message: Buffer, scope: string): void => {
    const fullName = `${scope}.${nameOf(message)}`;
    const typed = fieldsOf(message, messageFields.field).flatMap((field) => {
      const [typeName] = fieldsOf(field, fieldFields.typeName).map(String);
      // Type names begin with a dot.
      return typeName === undefined ? [] : [[numberOf(field), typeName.slice(1)] as const];
    });
    messages.set(fullName, new Map(typed));
    for (const nested of fieldsOf(message, messageFields.nestedMessage)) add(nested, fullName);
  };
  for (const { bytes } of describeFiles()) {
    const [packageName = ""] = fieldsOf(bytes, fileFields.package).map(String);
    for (const message of fieldsOf(bytes, fileFields.message)) add(message, packageName);
  }
  return messages;
}

function numberOf(field: Buffer): number {
  const reader = new BinaryReader(field);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === fieldFields.number) return reader.int32();
    reader.skip(wireType);
  }
  return 0;
}

function nameOf(described: Buffer): string {
  return String(fieldsOf(described, nameField)[0] ?? "");
}

/** The length-delimited values of one field. */
function fieldsOf(message: Buffer, field: number): Buffer[] {
  const reader = new BinaryReader(message);
  const found: Buffer[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field) found.push(Buffer.from(reader.bytes()));
    else reader.skip(wireType);
  }
  return found;
}
