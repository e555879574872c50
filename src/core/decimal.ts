/**
 * Amounts of money, exactly. A decimal is a whole number of units and how many of its digits stand behind the
 * point: 1.50 is 150 units at scale 2. Sums keep the longer scale, so that 1.50 and 0.50 are 2.00.
 */
export type Decimal = {
  readonly units: bigint;
  readonly scale: number;
};

export const zero: Decimal = { units: 0n, scale: 0 };

/** `digits[.digits]`: no sign, no exponent, no bare point. */
export function parseDecimal(text: string): Decimal | undefined {
  if (!/^[0-9]+(?:\.[0-9]+)?$/.test(text)) return undefined;
  const point = text.indexOf(".");
  if (point < 0) return { units: BigInt(text), scale: 0 };
  return {
    units: BigInt(text.slice(0, point) + text.slice(point + 1)),
    scale: text.length - point - 1,
  };
}

/** The shortest decimal that prints the number: 0.1 is one tenth. Nothing for what is not finite. */
export function decimalOf(number: number): Decimal | undefined {
  if (Number.isSafeInteger(number)) return { units: BigInt(number), scale: 0 };
  if (!Number.isFinite(number)) return undefined;
  const [mantissa = "", exponent = "0"] = String(number).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const units = BigInt(whole + fraction);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * tenTo(-scale), scale: 0 };
}

export function add(one: Decimal, other: Decimal): Decimal {
  const scale = Math.max(one.scale, other.scale);
  return { units: unitsAt(one, scale) + unitsAt(other, scale), scale };
}

export function subtract(one: Decimal, other: Decimal): Decimal {
  const scale = Math.max(one.scale, other.scale);
  return { units: unitsAt(one, scale) - unitsAt(other, scale), scale };
}

/** Below zero if the first is smaller, zero if both are equal in value, whatever their scales. */
export function compare(one: Decimal, other: Decimal): number {
  const scale = Math.max(one.scale, other.scale);
  const left = unitsAt(one, scale);
  const right = unitsAt(other, scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** With as many digits behind the point as the scale says. */
export function printDecimal({ units, scale }: Decimal): string {
  if (scale === 0) return String(units);
  const sign = units < 0n ? "-" : "";
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** The nearest finite number: JSON has no infinity. */
export function toNumber(decimal: Decimal): number {
  const { units, scale } = decimal;
  const whole = Number(units);
  // Both are exact up to here, and a division rounds once.
  if (Number.isSafeInteger(whole) && scale <= 22) return whole / 10 ** scale;
  const nearest = Number(printDecimal(decimal));
  return Math.max(-Number.MAX_VALUE, Math.min(nearest, Number.MAX_VALUE));
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return scale === wanted ? units : units * tenTo(wanted - scale);
}

function tenTo(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}
