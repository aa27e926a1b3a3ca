import type { Choices } from "../url-state.js";

/** A part of the page that is shown alone. */
export interface RoomView {
  /** It is seen from now on. */
  enter(): void;
  /** It is not seen any more. */
  leave(): void;
  /** What is chosen, for an address. */
  readonly choices: Partial<Choices>;
  /** Shows what an address says. */
  apply(choices: Partial<Choices>): void;
}
