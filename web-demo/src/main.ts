import { catalogue, init, loadPolicy, type Catalogue } from "quickstudy";
import { byId, say } from "./dom.js";
import { early } from "./early.js";
import { embedded, linkToWhole, shownAs } from "./embed.js";
import type { Picked } from "./files.js";
import { keepOffline } from "./offline.js";
import { prefetch } from "./policies.js";
import { AdaptRoom } from "./rooms/adapt.js";
import { LearnRoom } from "./rooms/learn.js";
import { MetaRoom } from "./rooms/meta.js";
import type { RoomView } from "./rooms/room.js";
import { themeButton } from "./theme-button.js";
import { format, parse, ROOMS, type Choices, type Room } from "./url-state.js";

/** Milliseconds after which files for another room are read: what is to be seen first goes first. */
const LATER = 4000;

/** Shows that something does not work at all. */
function problem(error: unknown): void {
  const box = byId("problem");
  box.hidden = false;
  say(box, `This page cannot run here: ${error instanceof Error ? error.message : String(error)}`);
}

/** The page: rooms are made when they are first entered, and the address says what is chosen. */
class Page {
  #catalogue: Catalogue;
  #made = new Map<Room, RoomView>();
  #room: Room | undefined;

  constructor(all: Catalogue) {
    this.#catalogue = all;
  }

  /** Enters the room that the address names. */
  show(): void {
    const { room, choices } = parse(location.hash);
    if (room !== this.#room && this.#room) {
      this.#made.get(this.#room)?.leave();
    }
    this.#room = room;
    for (const name of ROOMS) {
      byId(name).hidden = name !== room;
      const link = document.querySelector(`nav [data-room="${name}"]`);
      if (name === room) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    }
    document.title = `${byId(`${room}-title`).innerText.replace(/\s+/g, " ")} · quickstudy`;
    document.documentElement.dataset["room"] = room;
    const known = this.#made.get(room);
    if (known && Object.keys(choices).length > 0) {
      known.apply(choices);
    }
    this.#get(room, choices).enter();
    this.#write();
  }

  #write(): void {
    const room = this.#room;
    // An address that names another room was asked for by somebody, and is about to be followed.
    if (room && parse(location.hash).room === room) {
      const hash = format({ room, choices: this.#made.get(room)?.choices ?? {} });
      history.replaceState(null, "", hash + shownAs());
    }
  }

  #get(room: Room, choices: Partial<Choices> = {}): RoomView {
    const known = this.#made.get(room);
    const made = known ?? this.#make(room, choices);
    this.#made.set(room, made);
    return made;
  }

  #make(room: Room, choices: Partial<Choices>): RoomView {
    const chosen = (): void => {
      if (this.#room === room) this.#write();
    };
    const toMeta = async (file: Picked): Promise<boolean> => {
      // First, for it may be passed on from there.
      location.hash = "#room=meta";
      await (this.#get("meta") as MetaRoom).trainer.load(file);
      return true;
    };
    const toAdapt = (file: Picked): Promise<boolean> => (this.#get("adapt") as AdaptRoom).offered(file);
    const toLearn = async (file: Picked): Promise<boolean> => {
      if (!(await isSingleTask(file))) return toAdapt(file);
      location.hash = "#room=learn";
      await (this.#get("learn") as LearnRoom).trainer.load(file);
      return true;
    };
    switch (room) {
      case "learn":
        return new LearnRoom(this.#catalogue, choices, chosen, toMeta);
      case "adapt":
        return new AdaptRoom(choices, chosen);
      case "meta":
        return new MetaRoom(this.#catalogue, choices, chosen, toLearn);
    }
  }
}

/** Whether a file holds a policy of an environment with a single task. */
async function isSingleTask({ bytes }: Picked): Promise<boolean> {
  try {
    const policy = await loadPolicy(bytes);
    const { task } = policy.info.spec;
    policy.dispose();
    return task.length === 0;
  } catch {
    return false;
  }
}

/** Fetches what later choices need, and everything for when there is no network. */
function fetchAhead(): void {
  prefetch();
  keepOffline();
}

async function start(): Promise<void> {
  themeButton(byId("theme"));
  const { room, choices } = parse(location.hash);
  if (room === "learn") early(choices).catch(() => undefined);
  const page = new Page(await catalogue());
  page.show();
  addEventListener("hashchange", () => page.show());
  // The address names the room, so that the link past the header must not change it.
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  if (embedded) linkToWhole();
  else setTimeout(fetchAhead, LATER);
  const { devices, reasons } = await init();
  if (devices.length === 0) {
    problem(reasons.cpu);
  }
}

start().catch(problem);
