import type { AlgorithmName, Catalogue, DeviceRequest, SessionOptions, SetupInfo } from "quickstudy";
import { call } from "./code.js";
import { element, freshId, options, reveal, say } from "./dom.js";
import { count, learner } from "./format.js";
import { recipe } from "./recipes.js";
import { recordedLearners } from "./recorded.js";
import { RivalField } from "./rival-field.js";
import { SettingsForm, type Standard } from "./settings-form.js";
import type { Choices } from "./url-state.js";
import { WholeField } from "./whole-field.js";
import { WorldPicker } from "./world-picker.js";
import { WORLDS } from "./worlds.js";

/** What a room offers to train. */
export interface Offer {
  algorithm: string;
  envs: string[];
}

/** Steps where neither a preset nor a recipe says how many. */
const STEPS = 100_000;

/** A field, and where it says what is wrong with it. */
interface Entry {
  input: HTMLInputElement | HTMLSelectElement;
  error: HTMLElement;
}

/** Environment, algorithm, seed, steps, device and settings: everything that makes a run. */
export class ChoicesForm {
  readonly #catalogue: Catalogue;
  readonly #offers: Offer[];
  readonly #env: WorldPicker;
  readonly #algorithm = element("select", { "data-testid": "algorithm" });
  readonly #seed = new WholeField("seed", 0);
  readonly #steps = new WholeField("steps", 1);
  readonly #device = element("select", { "data-testid": "device" });
  readonly #rival = new RivalField(() => this.#onChange());
  readonly #settings: SettingsForm;
  readonly #entries = new Map<string, Entry>();
  readonly #about = element("p", { class: "about" });
  readonly #changes = element("span", { class: "changes" });
  readonly #code = element("code", { "data-testid": "code" });
  readonly #onChange: () => void;
  /** Steps if none are typed. */
  #usualSteps = STEPS;
  /** Steps if a program says none. */
  #presetSteps = STEPS;

  /** Choices go into `box`, and into `code` the call that makes the run. */
  constructor(
    box: HTMLElement,
    code: HTMLElement,
    catalogue: Catalogue,
    offers: Offer[],
    given: Partial<Choices>,
    onChange: () => void,
  ) {
    this.#catalogue = catalogue;
    this.#offers = offers;
    this.#onChange = () => {
      this.#summarise();
      onChange();
    };
    options(this.#device, [
      ["auto", "Whichever is faster"],
      ["cpu", "CPU (WebAssembly)"],
      ["gpu", "GPU (WebGPU)"],
    ]);
    const first = element("div", { class: "firsts" });
    const details = element(
      "details",
      { class: "settings" },
      element("summary", {}, "Settings", this.#changes),
      element(
        "div",
        { class: "knobs" },
        first,
        this.#labelled("seed", "seed", this.#seed.input, "Names the random numbers: the same seed gives the same run."),
      ),
    );
    const run = [
      this.#labelled("steps", "steps", this.#steps.input, "How many environment steps to train for."),
      this.#labelled("device", "device", this.#device, "Where to compute. Small networks are often faster on the CPU."),
    ];
    this.#settings = new SettingsForm(details, first, run, () => this.#onChange());
    this.#env = new WorldPicker([...new Set(offers.flatMap(({ envs }) => envs))], () => this.#switched());
    const learners = this.#labelled("Learner", "algorithm", this.#algorithm, "How to learn from what happened.");
    learners.append(this.#rival.root, this.#about);
    box.replaceChildren(this.#env.root, learners, details);
    code.replaceChildren(element("h2", {}, "This run as code"), element("pre", {}, this.#code));
    this.apply(given);
    this.#algorithm.addEventListener("change", () => this.#switched());
    for (const input of [this.#seed.input, this.#steps.input, this.#device]) {
      input.addEventListener("change", () => this.#onChange());
    }
    // Pictures may wait until there is a run.
    setTimeout(() => void this.#env.picture().catch(() => undefined), 1200);
  }

  #labelled(name: string, key: string, input: HTMLInputElement | HTMLSelectElement, hint: string): HTMLElement {
    const [id, hintId, errorId] = [freshId(key), freshId("hint"), freshId("error")];
    const error = element("p", { id: errorId, class: "error" });
    this.#entries.set(key, { input, error });
    input.id = id;
    input.setAttribute("aria-describedby", `${hintId} ${errorId}`);
    return element(
      "div",
      { class: "field" },
      element("label", { for: id }, name),
      input,
      error,
      element("p", { id: hintId, class: "hint" }, hint),
    );
  }

  get #offer(): Offer {
    return this.#offers.find(({ algorithm }) => algorithm === this.#algorithm.value) ?? this.#offers[0]!;
  }

  /** Shows these; what is not given keeps the room's standard. */
  apply(given: Partial<Choices>): void {
    const envs = this.#offers.flatMap((offer) => offer.envs);
    // The first world that has a card is the one to begin with.
    const first = Object.keys(WORLDS).find((env) => envs.includes(env)) ?? envs[0]!;
    this.#env.value = given.env !== undefined && envs.includes(given.env) ? given.env : first;
    this.#offerAlgorithms(given.algorithm ?? recordedLearners(this.#env.value)[0], given.rival);
    this.#seed.value = given.seed ?? 0;
    this.#steps.value = given.steps;
    this.#device.value = given.device ?? "auto";
    this.#showSettings(given.settings ?? {});
  }

  /** Algorithms that can train the chosen environment. */
  #offerAlgorithms(wanted: string | undefined, rival: string | undefined): void {
    const able = this.#offers.filter(({ envs }) => envs.includes(this.#env.value));
    const meaning = (name: string): string => this.#catalogue.algorithms.find((a) => a.name === name)?.meaning ?? "";
    options(
      this.#algorithm,
      able.map(({ algorithm }) => [algorithm, learner(algorithm)]),
    );
    if (able.some(({ algorithm }) => algorithm === wanted)) this.#algorithm.value = wanted!;
    const names = able.map(({ algorithm }) => algorithm);
    this.#rival.offer(this.#env.value, this.#algorithm.value, names, rival);
    const says = meaning(this.#algorithm.value);
    say(this.#about, `${says.charAt(0).toUpperCase()}${says.slice(1)}.`);
  }

  #switched(): void {
    this.#offerAlgorithms(this.#algorithm.value, this.#rival.value);
    this.#steps.value = undefined;
    this.#showSettings({});
    this.#onChange();
  }

  /** Whether a run is one of those that are offered. */
  knows({ algorithm, env }: SetupInfo): boolean {
    return this.#offers.some((offer) => offer.algorithm === algorithm && offer.envs.includes(env));
  }

  /** Shows what a run was made of, so that Reset makes the same again. */
  adopt({ algorithm, env, seeds, steps, settings }: SetupInfo): void {
    this.apply({ algorithm, env, seed: seeds[0] ?? 0, steps });
    this.#showSettings(this.#settings.changes(settings));
  }

  #showSettings(texts: Record<string, string>): void {
    const [algorithm, env] = [this.#offer.algorithm, this.#env.value];
    const info = this.#catalogue.algorithms.find(({ name }) => name === algorithm);
    const preset = this.#catalogue.presets.find((p) => p.algorithm === algorithm && p.env === env);
    const quick = recipe(algorithm, env);
    this.#settings.show(
      info?.settings ?? [],
      ({ key, default: standard }): Standard => {
        if (quick && key in quick.settings) return { value: quick.settings[key], origin: "this page" };
        if (preset && key in preset.settings) return { value: preset.settings[key], origin: "preset" };
        return { value: standard, origin: "default" };
      },
      texts,
    );
    this.#usualSteps = quick?.steps ?? preset?.steps ?? STEPS;
    this.#steps.input.placeholder = count(this.#usualSteps);
    this.#presetSteps = preset?.steps ?? STEPS;
    this.#summarise();
  }

  /** As they are now, for an address; of numbers that are none, the last ones that were. */
  get choices(): Choices {
    return {
      env: this.#env.value,
      algorithm: this.#algorithm.value,
      seed: this.#seed.value ?? 0,
      steps: this.#steps.value,
      device: this.#device.value as DeviceRequest,
      settings: this.#settings.texts,
      ...(this.#rival.value === undefined ? {} : { rival: this.#rival.value }),
    };
  }

  /** The run to race against: another learner in this world, by the page's settings or its preset. */
  get rivalRequest(): SessionOptions | undefined {
    const { env, seed, device, rival } = this.choices;
    if (rival === undefined) return undefined;
    const quick = recipe(rival, env);
    const preset = this.#catalogue.presets.find((p) => p.algorithm === rival && p.env === env);
    const steps = quick?.steps ?? preset?.steps ?? STEPS;
    return { algorithm: rival as AlgorithmName, env, seed, device, config: quick?.settings ?? {}, steps };
  }

  /** As they are now, for training. Equal requests make the same run. */
  get request(): SessionOptions {
    const { env, algorithm, seed, steps, device } = this.choices;
    const config = { ...recipe(algorithm, env)?.settings, ...this.#settings.values };
    // What is no name or no setting, the package says.
    return { algorithm: algorithm as AlgorithmName, env, seed, device, config, steps: steps ?? this.#usualSteps };
  }

  /** Says how much is changed, and writes the call that makes this run: what the package takes anyway is left out. */
  #summarise(): void {
    const { seed, steps, device, settings } = this.choices;
    const changed = [seed !== 0, steps !== undefined, device !== "auto"].filter(Boolean).length;
    const all = changed + Object.keys(settings).length;
    say(this.#changes, all === 0 ? "" : `${all} changed`);
    const { config, ...made } = this.request;
    if (made.seed === 0) delete made.seed;
    if (made.steps === this.#presetSteps) delete made.steps;
    if (made.device === "auto") delete made.device;
    say(this.#code, call({ ...made, ...(Object.keys(config ?? {}).length > 0 ? { config } : {}) } as SessionOptions));
  }

  /** Whether all numbers are such; those that are not are marked. */
  check(): boolean {
    const problems = [
      ["seed", this.#seed.problem],
      ["steps", this.#steps.problem],
    ] as const;
    problems.forEach(([key, problem]) =>
      problem === undefined ? this.#clear(this.#entries.get(key)) : this.fail(key, `${key}: ${problem}`),
    );
    return problems.every(([, problem]) => problem === undefined);
  }

  /** Shows what is wrong beside what it is about; false if that is nothing here. */
  fail(key: string | undefined, message: string): boolean {
    const entry = key === undefined ? undefined : this.#entries.get(key);
    if (entry) {
      entry.input.setAttribute("aria-invalid", "true");
      say(entry.error, message);
      reveal(entry.error);
      return true;
    }
    return this.#settings.fail(key, message);
  }

  /** Takes complaints back, but for those that can be seen from the text. */
  clear(): void {
    this.#entries.forEach((entry) => this.#clear(entry));
    this.#settings.clear();
    this.check();
  }

  #clear(entry: Entry | undefined): void {
    entry?.input.removeAttribute("aria-invalid");
    if (entry) say(entry.error, "");
  }
}
