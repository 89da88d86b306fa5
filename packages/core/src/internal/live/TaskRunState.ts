/** Decides where a run is between its request and its outcome, and what may still happen to it. */

/** Where an unsettled run is. All else about its progress follows from this. */
export type TaskRunState =
  /** It waits for earlier runs of its task, or for a slot. It is data, and has no fiber. */
  | "queued"
  /** A loop of its session took its slot, for a message. The fiber of the run is about to begin. */
  | "granted"
  /** Its fiber begins, with a slot, or to end without one. */
  | "starting"
  /** Its fiber begins after its time limit: it only settles. */
  | "expired"
  /** It has its slot. That it has started is not stored yet. */
  | "running"
  /** It works, and its start is stored, or on its way there. */
  | "started"
  /** Its outcome is being stored: from then on nothing changes it. */
  | "settling"

/** What happens to a run. */
export type TaskRunEvent = "begin" | "expire" | "grant" | "store" | "settle"

const transitions: Readonly<Record<TaskRunState, { readonly [E in TaskRunEvent]?: TaskRunState }>> = {
  queued: { begin: "starting", expire: "expired", grant: "granted", settle: "settling" },
  granted: { begin: "running", expire: "expired", settle: "settling" },
  starting: { grant: "running", settle: "settling" },
  expired: { settle: "settling" },
  running: { store: "started", settle: "settling" },
  started: { settle: "settling" },
  settling: {}
}

/** The one way to change the state of a run. Returns whether that happened: each event counts once, and none comes too late. */
export const advance = (run: { state: TaskRunState }, event: TaskRunEvent): boolean => {
  const next = transitions[run.state][event]
  if (next === undefined) return false
  run.state = next
  return true
}

/** Whether a run has a fiber, or had one. */
export const hasBegun = ({ state }: { readonly state: TaskRunState }): boolean =>
  state !== "queued" && state !== "granted"
