import type { Catalogue } from "quickstudy";
import { element, freshId, reveal, say } from "./dom.js";
import { groupOf, GROUPS, type Group } from "./setting-groups.js";

type SettingInfo = Catalogue["algorithms"][number]["settings"][number];

/** Where a value comes from that the reader has not changed. */
export interface Standard {
  value: unknown;
  /** Such as `preset`. */
  origin: string;
}

interface Field {
  info: SettingInfo;
  standard: unknown;
  row: HTMLElement;
  input: HTMLInputElement | HTMLSelectElement;
  error: HTMLElement;
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Names of settings that say more than their keys. */
const LABELS: Record<string, string> = { envs: "copies", n_samples: "candidates" };

/** The words to choose from, of settings that are words or switches. */
function words({ range, default: standard }: SettingInfo): string[] | undefined {
  if (typeof standard === "boolean") {
    return ["true", "false"];
  }
  return typeof standard === "string" ? range.split(",").map((word) => word.trim()) : undefined;
}

/** A typed text as a value. What is no number stays text, so that the package says what it expected. */
function value(text: string, { default: standard }: SettingInfo): unknown {
  if (typeof standard === "boolean") {
    return text === "true" ? true : text === "false" ? false : text;
  }
  const number = (part: string): unknown =>
    part.trim() !== "" && Number.isFinite(Number(part)) ? Number(part) : part.trim();
  if (Array.isArray(standard)) {
    return text
      .replace(/^\s*\[|\]\s*$/g, "")
      .split(",")
      .map(number);
  }
  return typeof standard === "number" ? number(text) : text;
}

/**
 * Settings of an algorithm: the first ones open, the others in folds. Empty fields keep their standard values, which
 * they show; each explains itself on hover and focus.
 */
export class SettingsForm {
  #first: HTMLElement;
  #folds: Map<Group, { rows: HTMLElement; count: HTMLElement; fixed: number }>;
  #fields = new Map<string, Field>();
  #onChange: () => void;

  /** Folds go into `box`, the first fields into `first`, and the page's own fields into the fold `Run`. */
  constructor(box: HTMLElement, first: HTMLElement, run: readonly HTMLElement[], onChange: () => void) {
    this.#first = first;
    this.#onChange = onChange;
    const folds = GROUPS.map((name) => {
      const [rows, count] = [element("div", { class: "rows" }), element("span")];
      const own = name === "Run" ? run : [];
      const fold = element("details", { class: "fold" }, element("summary", {}, name, count), ...own, rows);
      box.append(fold);
      return [name, { rows, count, fixed: own.length }] as const;
    });
    this.#folds = new Map(folds);
  }

  /** Shows the settings of another algorithm. */
  show(
    settings: readonly SettingInfo[],
    standard: (info: SettingInfo) => Standard,
    texts: Record<string, string>,
  ): void {
    this.#fields.clear();
    const places: Record<string, HTMLElement[]> = { First: [] };
    for (const info of settings) {
      const field = this.#field(info, standard(info), texts[info.key] ?? "");
      this.#fields.set(info.key, field);
      (places[groupOf(info.key)] ??= []).push(field.row);
    }
    this.#first.replaceChildren(...places["First"]!);
    for (const [name, { rows, count, fixed }] of this.#folds) {
      const inside = places[name] ?? [];
      rows.replaceChildren(...inside);
      say(count, String(inside.length + fixed));
      count.closest("details")!.hidden = inside.length + fixed === 0;
    }
  }

  #field(info: SettingInfo, standard: Standard, text: string): Field {
    const [id, hint, wrong] = [freshId("setting"), freshId("hint"), freshId("error")];
    const choices = words(info);
    const attributes = { id, "aria-describedby": `${hint} ${wrong}`, "data-testid": `setting-${info.key}` };
    const usual = `${shown(standard.value)} (${standard.origin})`;
    let input: HTMLInputElement | HTMLSelectElement;
    if (choices) {
      const entries = choices.map((word) => element("option", { value: word }, word));
      input = element("select", attributes, element("option", { value: "" }, usual), ...entries);
    } else {
      input = element("input", {
        ...attributes,
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: shown(standard.value),
      });
    }
    input.value = text;
    const error = element("p", { id: wrong, class: "error" });
    const explanation = element(
      "p",
      { id: hint, class: "hint" },
      `${info.meaning}. Values: ${info.range}. Now ${usual}, default ${shown(info.default)}.`,
    );
    const label = element("label", { for: id }, LABELS[info.key] ?? info.key.replaceAll("_", " "));
    const row = element("div", { class: "setting" }, label, input, error, explanation);
    row.classList.toggle("changed", text !== "");
    input.addEventListener("change", () => {
      row.classList.toggle("changed", input.value.trim() !== "");
      this.#onChange();
    });
    return { info, standard: standard.value, row, input, error };
  }

  /** What was changed, as typed. */
  get texts(): Record<string, string> {
    const changed = [...this.#fields].map(([key, { input }]) => [key, input.value.trim()] as const);
    return Object.fromEntries(changed.filter(([, text]) => text !== ""));
  }

  /** What was changed, as values; what is typed as it would be anyway is no change. */
  get values(): Record<string, unknown> {
    const typed = Object.entries(this.texts).map(
      ([key, text]) => [key, value(text, this.#fields.get(key)!.info)] as const,
    );
    return Object.fromEntries(typed.filter(([key, value]) => shown(this.#fields.get(key)!.standard) !== shown(value)));
  }

  /** Those of a run's settings that differ from what empty fields stand for, as texts. */
  changes(settings: readonly { key: string; value: unknown }[]): Record<string, string> {
    const differ = settings.filter(
      ({ key, value }) => this.#fields.has(key) && shown(this.#fields.get(key)!.standard) !== shown(value),
    );
    return Object.fromEntries(differ.map(({ key, value }) => [key, shown(value)]));
  }

  /** Shows what is wrong beside its field; false if there is no such field. */
  fail(key: string | undefined, message: string): boolean {
    const field = key === undefined ? undefined : this.#fields.get(key);
    if (!field) {
      return false;
    }
    field.input.setAttribute("aria-invalid", "true");
    say(field.error, message);
    reveal(field.row);
    return true;
  }

  /** Takes complaints back. */
  clear(): void {
    for (const { input, error } of this.#fields.values()) {
      input.removeAttribute("aria-invalid");
      say(error, "");
    }
  }
}
