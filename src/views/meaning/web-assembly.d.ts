/** As much of WebAssembly as we use: it is part of the language's hosts, and neither library we compile with has it. */
declare namespace WebAssembly {
  class Memory {
    readonly buffer: ArrayBuffer;
    constructor(size: { readonly initial: number });
    /** In pages. The buffer from before is empty afterwards. */
    grow(pages: number): number;
  }
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(
      module: Module,
      imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    );
  }
}
