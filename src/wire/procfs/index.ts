export { type ProcessStat, statOf } from "./stat.ts";
