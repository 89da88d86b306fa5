/** Draws a state as a shape, so that nobody depends on its colour. */
import type { Phase } from "@skein/view/Activity"
import type { Group } from "@skein/view/SessionGroups"

const shapes: Record<Phase, string> = {
  asking: "M8 1.5 14.5 8 8 14.5 1.5 8zM8 5v4M8 11v.6",
  working: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z",
  retrying: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
  waiting: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zM8 5v3l2 1.5",
  interrupted: "M6 3.5v9M10 3.5v9",
  failed: "M4 4l8 8M12 4l-8 8",
  done: "M3 8.5 6.5 12 13 4.5"
}

/** The shape of a phase. */
export const Glyph = ({ phase }: { readonly phase: Phase }) => (
  <svg class={`glyph ${phase}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={shapes[phase]} />
  </svg>
)

/** The phase of a group of sessions. */
export const phaseOfGroup: Record<Group, Phase> = {
  "needs you": "asking",
  running: "working",
  waiting: "waiting",
  failed: "failed",
  done: "done",
  drafts: "waiting"
}
