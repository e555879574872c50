/** Apart from the room's other front, because this one brings `ws`. */
export {
  type ArcpServerOptions,
  type ArcpUpgradeOptions,
  attachArcpUpgrade,
  startArcpServer,
} from "./upgrade.ts";
