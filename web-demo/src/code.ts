import type { SessionOptions } from "quickstudy";

/** A key as JavaScript writes it. */
function key(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : JSON.stringify(name);
}

/** A value as JavaScript writes it; objects over several lines. */
function literal(value: unknown, indent: string): string {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const inner = `${indent}  `;
    const lines = Object.entries(value).map(([name, part]) => `${inner}${key(name)}: ${literal(part, inner)},\n`);
    return `{\n${lines.join("")}${indent}}`;
  }
  return Array.isArray(value) ? `[${value.map((part) => literal(part, indent)).join(", ")}]` : JSON.stringify(value);
}

/** The call of the npm package that makes a run. */
export function call(options: SessionOptions): string {
  return `import { train } from "quickstudy";\n\nconst run = train(${literal(options, "")});`;
}
