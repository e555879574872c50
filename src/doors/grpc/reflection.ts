/** The standard reflection service, so that grpcurl and its kind work without our proto files. */
import {
  type DescribedFile,
  describeFiles,
  ServerReflectionAlphaDefinition,
  ServerReflectionDefinition,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  statusNumbers,
} from "../../wire/grpc/index.ts";
import { exchange } from "./method.ts";
import type { Method } from "./server.ts";

type Question = NonNullable<ServerReflectionRequest["messageRequest"]>;
type Answer = NonNullable<ServerReflectionResponse["messageResponse"]>;

/** `services` are the full names of everything served. */
export function reflectionMethods<Connection>(services: readonly string[]): Method<Connection>[] {
  const files = describeFiles();
  const handle = (request: ServerReflectionRequest): ServerReflectionResponse => ({
    validHost: request.host,
    originalRequest: request,
    messageResponse: answer(request.messageRequest, files, services),
  });
  return [ServerReflectionDefinition, ServerReflectionAlphaDefinition].map(
    ({ fullName, methods }) => exchange(fullName, methods.serverReflectionInfo, handle),
  );
}

function answer(
  question: Question | undefined,
  files: readonly DescribedFile[],
  services: readonly string[],
): Answer {
  switch (question?.$case) {
    case "listServices": {
      const service = services.map((name) => ({ name }));
      return { $case: "listServicesResponse", value: { service } };
    }
    case "fileByFilename":
      return withDependencies(
        files.find((file) => file.name === question.value),
        files,
        question.value,
      );
    case "fileContainingSymbol":
      return withDependencies(
        files.find((file) => file.symbols.includes(question.value)),
        files,
        question.value,
      );
    case "fileContainingExtension":
      return notFound(question.value.containingType);
    case "allExtensionNumbersOfType": {
      // None of our messages can be extended.
      const value = { baseTypeName: question.value, extensionNumber: [] };
      return { $case: "allExtensionNumbersResponse", value };
    }
    case undefined:
      return {
        $case: "errorResponse",
        value: { errorCode: statusNumbers.INVALID_ARGUMENT, errorMessage: "nothing was asked" },
      };
  }
}

/** The file and, so that the caller need not ask again, every file it rests on. */
function withDependencies(
  file: DescribedFile | undefined,
  files: readonly DescribedFile[],
  asked: string,
): Answer {
  if (!file) return notFound(asked);
  const needed = new Set([file]);
  for (const { dependencies } of needed) {
    for (const name of dependencies) {
      const dependency = files.find((other) => other.name === name);
      if (dependency) needed.add(dependency);
    }
  }
  const fileDescriptorProto = [...needed].map(({ bytes }) => bytes);
  return { $case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function notFound(asked: string): Answer {
  const value = { errorCode: statusNumbers.NOT_FOUND, errorMessage: `not found: ${asked}` };
  return { $case: "errorResponse", value };
}
