/** Says why nobody continues a tree that has unfinished work. */
import type { SessionStatus } from "@skein/domain/SessionInfo"

/** A status in which nobody continues a tree. */
export type Held = Extract<SessionStatus, { readonly type: "away" | "stuck" }>

/** Whether nobody continues a tree in this state, although its work is unfinished. */
export const isHeld = <S extends { readonly type: string }>(state: S): state is Extract<S, Held> =>
  state.type === "away" || state.type === "stuck"

/** Why nobody continues a tree. */
export const heldText = (held: Held): string =>
  held.type === "away"
    ? `waits for a server on the host ${held.host}: its directory is ${held.directory} there`
    : `cannot be continued: ${held.cause}. Servers try again from time to time`
