import { catalogue, init, type Catalogue } from "quickstudy";
import { byId, say } from "./dom.js";
import { LearnRoom } from "./rooms/learn.js";
import { format, parse, ROOMS, type Choices, type Room } from "./url-state.js";

/** A room that can be entered and left, with its choices for the address. */
interface Open {
  enter(): void;
  leave(): void;
  choices(): Partial<Choices>;
  apply(choices: Partial<Choices>): void;
}

const opened = new Map<Room, Open>();
let current: Room | undefined;

/** Shows that something does not work at all. */
function problem(error: unknown): void {
  const box = byId("problem");
  box.hidden = false;
  say(box, `This page cannot run here: ${error instanceof Error ? error.message : String(error)}`);
}

/** The address says what is chosen, so that it can be passed on. */
function writeAddress(): void {
  if (current) {
    history.replaceState(null, "", format({ room: current, choices: opened.get(current)?.choices() ?? {} }));
  }
}

function make(_room: Room, all: Catalogue, given: Partial<Choices>): Open {
  const learn = new LearnRoom(all, given, writeAddress, async () => false);
  learn.trainer.reset();
  return {
    enter: () => learn.enter(),
    leave: () => learn.leave(),
    choices: () => learn.trainer.form.choices,
    apply(choices) {
      learn.trainer.form.apply(choices);
      learn.trainer.reset();
    },
  };
}

function show(all: Catalogue): void {
  const { room, choices } = parse(location.hash);
  if (room !== current && current) {
    opened.get(current)?.leave();
  }
  for (const name of ROOMS) {
    byId(name).hidden = name !== room;
    const link = document.querySelector(`nav [data-room="${name}"]`);
    if (name === room) link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  }
  const known = opened.get(room);
  current = room;
  if (!known) {
    opened.set(room, make(room, all, choices));
  } else if (Object.keys(choices).length > 0) {
    known.apply(choices);
  }
  opened.get(room)?.enter();
  writeAddress();
}

async function start(): Promise<void> {
  const all = await catalogue();
  show(all);
  addEventListener("hashchange", () => show(all));
  const { devices, reasons } = await init();
  if (devices.length === 0) {
    problem(reasons.cpu);
  }
}

start().catch(problem);
