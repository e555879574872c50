/**
 * Whether this page may act. A link that the command line printed carries a key in its fragment, good for
 * one use: it is taken out of the address before anything else happens, and exchanged for a session.
 */
import { signal } from "@preact/signals";
import { call, keepPageKey, reasonOf } from "./api.ts";
import { notify } from "./notices.ts";

/** Undefined until the daemon was asked. Whoever may not act is not told of the agents of this machine either. */
export const mayWrite = signal<boolean | undefined>(undefined);

/** Resolves when the link was used, if the page came by one. */
export async function openSession(): Promise<void> {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key !== null) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      const { pageKey } = await call("openSession", { key });
      keepPageKey(pageKey);
    } catch (fault) {
      // A used link that is loaded again changes nothing for a browser that has a session.
      await lookAtSession();
      if (!mayWrite.value) notify(`The link could not be used. ${reasonOf(fault)}`);
      return;
    }
  }
  void lookAtSession();
}

/** Asked again after a lost connection: the daemon may not be the same. */
export async function lookAtSession(): Promise<void> {
  try {
    mayWrite.value = (await call("getSession", {})).mayWrite;
  } catch {
    // Not reachable: it stays as it was, and is asked again when it is.
  }
}
