/**
 * Decides where a tool call is between its request and its result. Who needs the slot, which clocks pause and what may be
 * handed over follow from it.
 */

/** Where a call is. */
export type CallState =
  | {
    readonly at:
      /** Its intent is stored, or about to be, and nobody makes the call: not yet, or not any more. */
      | "noted"
      /** Hooks and rules decide about it. */
      | "pending"
      /** A person decides about it. */
      | "asking"
      /** It is permitted, and waits for a place among the calls that work. */
      | "ready"
      /** It is permitted, and nothing may begin: this process leaves the tree. */
      | "held"
      /** It waits for what it has begun, which another process can find again. */
      | "parked"
      /** Its result is known, and being stored. */
      | "ending"
      | "settled"
  }
  /** It has its place, and its effect is about to begin; `waits` if that waits for others from its beginning. */
  | { readonly at: "starting"; readonly waits: boolean }
  /** Its effect has begun. In how many places it waits, for people and for others: it works if it waits in none. */
  | { readonly at: "running"; readonly people: number; readonly others: number }

/** What happens to a call. */
export type CallEvent =
  | "take"
  | "ask"
  | "answer"
  | "permit"
  | "start"
  | "startWaiting"
  | "hold"
  | "release"
  | "begin"
  | "wait"
  | "continue"
  | "park"
  | "end"
  | "close"

/** The states without more to say. */
export const noted: CallState = { at: "noted" }
export const pending: CallState = { at: "pending" }
export const ready: CallState = { at: "ready" }
const asking: CallState = { at: "asking" }
const held: CallState = { at: "held" }
const parked: CallState = { at: "parked" }
const ending: CallState = { at: "ending" }
const settled: CallState = { at: "settled" }
const works: CallState = { at: "running", people: 0, others: 0 }
const starting: CallState = { at: "starting", waits: false }
const startingToWait: CallState = { at: "starting", waits: true }

const transitions: {
  readonly [S in CallState["at"]]: { readonly [E in CallEvent]?: CallState }
} = {
  noted: { take: ready, close: noted },
  pending: { ask: asking, permit: ready, end: ending, close: settled },
  asking: { answer: pending, end: ending, close: settled },
  ready: { start: starting, startWaiting: startingToWait, end: ending, close: noted },
  starting: { hold: held, end: ending, close: noted },
  held: { release: ready, end: ending, close: noted },
  running: { park: parked, end: ending, close: settled },
  parked: { end: ending, close: settled },
  ending: { close: settled },
  settled: {}
}

/** The state after an event; undefined if the event does not count any more. */
export const transition = (state: CallState, event: CallEvent): CallState | undefined => {
  if (state.at === "starting" && event === "begin") return state.waits ? { ...works, others: 1 } : works
  if (state.at === "running") {
    const { others, people } = state
    if (event === "ask") return { ...state, people: people + 1 }
    if (event === "answer") return { ...state, people: people - 1 }
    if (event === "wait") return { ...state, others: others + 1 }
    if (event === "continue") return { ...state, others: others - 1 }
  }
  return transitions[state.at][event]
}

/** Whether somebody makes the call. */
export const isOpen = ({ at }: CallState): boolean => at !== "noted" && at !== "settled"

/** Whether it waits for a person: the clocks of its session and of all above pause. */
export const isAsking = (state: CallState): boolean =>
  state.at === "asking" || (state.at === "running" && state.people > 0)

/** Whether it waits for others, so that it needs no slot. */
export const isWaiting = (state: CallState): boolean =>
  state.at === "asking" || state.at === "held" || state.at === "parked" || (state.at === "starting" && state.waits)
  || (state.at === "running" && state.people + state.others > 0)

/** Whether it has one of the places of its step. */
export const hasPlace = (state: CallState): boolean =>
  (state.at === "starting" || state.at === "running") && !isWaiting(state)

/** Whether it is stored as running, or about to be, and its effect has not begun: it may be handed over. */
export const isUnbegun = ({ at }: CallState): boolean =>
  at === "noted" || at === "ready" || at === "starting" || at === "held"
