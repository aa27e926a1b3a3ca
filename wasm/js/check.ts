import { ConfigError } from "./errors.js";

/** A value as an error shows it. */
export function shown(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  }
  return Array.isArray(value) ? "an array" : typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A whole number within bounds; the largest is the largest that a number holds exactly. */
export function whole(key: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `in ${least} to ${most}`;
    throw new ConfigError(`${key}: expected a whole number ${range}, got ${shown(value)}`, { key });
  }
  return value;
}

/** An object with none but these properties, each of which is `what`. What is undefined counts as left out. */
export function only(what: string, value: unknown, keys: readonly string[], hint = ""): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigError(`expected an object that holds each ${what}, got ${shown(value)}`);
  }
  const extra = Object.entries(value).find(([key, given]) => given !== undefined && !keys.includes(key))?.[0];
  if (extra !== undefined) {
    throw new ConfigError(`unknown ${what} \`${extra}\`; there are ${keys.join(", ")}${hint}`, { key: extra });
  }
  return value as Record<string, unknown>;
}

/** A value of one type, or left out. */
export function optional(key: string, value: unknown, type: "boolean" | "function"): void {
  if (value !== undefined && typeof value !== type) {
    throw new ConfigError(
      `${key}: expected ${type === "boolean" ? "true or false" : "a function"}, got ${shown(value)}`,
      { key },
    );
  }
}
