/** Decides how spans are drawn: as one shape for each kind, without details that are too small to see. */
import type { Span } from "@skein/api/Output"
import type { AgentNode } from "@skein/view/AgentNode"
import { formatDuration } from "@skein/view/Numbers"

/** The visible time range, in milliseconds since 1970. */
export interface Window {
  readonly from: number
  readonly to: number
}

/** The kinds of spans. Later ones are drawn on top. */
export const kinds = [
  "tasks",
  "model",
  "tool",
  "slot",
  "budget",
  "retry",
  "pause",
  "person"
] as const satisfies ReadonlyArray<
  Span["kind"]
>

/** What each kind means, in words. */
export const meanings: Record<Span["kind"] | "idle", string> = {
  model: "model works",
  tool: "tool works",
  tasks: "waits for its tasks",
  slot: "waits for a slot",
  budget: "waits for budget",
  retry: "waits for a retry",
  pause: "waits for a provider's pause",
  person: "waits for a person",
  idle: "idle"
}

const heights: Record<Span["kind"], readonly [y: number, height: number]> = {
  tasks: [8, 6],
  model: [4, 14],
  tool: [4, 14],
  slot: [5, 12],
  budget: [5, 12],
  retry: [5, 12],
  pause: [5, 12],
  person: [2, 18]
}

/** A range of pixels. */
type Stretch = readonly [start: number, end: number]

const stretchOf = (start: number, end: number, { from, to }: Window, width: number): Stretch | undefined => {
  if (end < from || start > to) return undefined
  const scale = width / Math.max(1, to - from)
  const x = Math.max(-2, (start - from) * scale)
  return [x, Math.max(x + 1.5, Math.min(width + 2, (end - from) * scale))]
}

const rectangle = ([x, end]: Stretch, y: number, height: number): string =>
  `M${x.toFixed(1)} ${y}H${end.toFixed(1)}V${y + height}H${x.toFixed(1)}z`

/** One SVG path for each kind of span. Neighbours without a pixel between them are merged. */
export const pathsOf = (
  spans: ReadonlyArray<Span>,
  window: Window,
  width: number,
  now: number
): ReadonlyMap<Span["kind"], string> => {
  const open = new Map<Span["kind"], Stretch>()
  const paths = new Map<Span["kind"], string>()
  const flush = (kind: Span["kind"], stretch: Stretch) =>
    paths.set(kind, (paths.get(kind) ?? "") + rectangle(stretch, ...heights[kind]))
  for (const { end = now, kind, start } of spans) {
    const stretch = stretchOf(start, end, window, width)
    if (stretch === undefined) continue
    const before = open.get(kind)
    if (before !== undefined && stretch[0] - before[1] < 0.8) {
      open.set(kind, [before[0], Math.max(before[1], stretch[1])])
    } else {
      if (before !== undefined) flush(kind, before)
      open.set(kind, stretch)
    }
  }
  for (const [kind, stretch] of open) flush(kind, stretch)
  return paths
}

/** The path of time ranges, at the bottom of a lane. */
export const stripOf = (
  stretches: ReadonlyArray<{ readonly start: number; readonly end: number }>,
  window: Window,
  width: number
): string =>
  stretches.flatMap(({ end, start }) => {
    const stretch = stretchOf(start, end, window, width)
    return stretch === undefined ? [] : [rectangle(stretch, 19, 3)]
  }).join("")

/** The range of an agent's line. */
export const lineOf = ({ began, ended }: AgentNode, window: Window, width: number, now: number): Stretch | undefined =>
  stretchOf(began, ended ?? now, window, width)

/** The span at a moment; of several, the one on top. */
export const spanAt = (spans: ReadonlyArray<Span>, time: number, tolerance: number, now: number): Span | undefined =>
  spans
    .filter(({ end = now, start }) => start - tolerance <= time && time <= end + tolerance)
    .toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
    .at(-1)

/** How long an agent did what, in words for screen readers. */
export const summaryOf = (spans: ReadonlyArray<Span>, now: number): string => {
  const sums = new Map<Span["kind"], number>()
  for (const { end = now, kind, start } of spans) sums.set(kind, (sums.get(kind) ?? 0) + Math.max(0, end - start))
  return kinds.flatMap((kind) => {
    const sum = sums.get(kind)
    return sum === undefined ? [] : [`${meanings[kind]} ${formatDuration(sum)}`]
  }).join(", ")
}

const steps = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000]

/** The marks of the axis: the position of each, and its time since the beginning. */
export const ticksOf = (
  { from, to }: Window,
  width: number,
  origin: number
): ReadonlyArray<readonly [x: number, text: string]> => {
  const wanted = (to - from) / Math.max(2, width / 110)
  const step = steps.find((each) => each >= wanted) ?? Math.ceil(wanted / 3_600_000) * 3_600_000
  const ticks: Array<readonly [number, string]> = []
  for (let at = Math.max(0, Math.ceil((from - origin) / step) * step); at <= to - origin; at += step) {
    ticks.push([(origin + at - from) * width / (to - from), formatDuration(at)])
  }
  return ticks
}
