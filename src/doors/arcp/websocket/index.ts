/** Separate from the other index of this directory, because this one imports `ws`. */
export {
  type ArcpServerOptions,
  type ArcpUpgradeOptions,
  attachArcpUpgrade,
  startArcpServer,
} from "./upgrade.ts";
