// @ts-check
// What is measured: the prompt of each scenario, what a correct run of it does, its figures, and the targets for Skein.

/**
 * @typedef {"wallMs" | "cpuS" | "memoryMb" | "firstMs" | "overIdealMs" | "turnMs" | "turnGrowth" | "mostOpen"} Field
 * @typedef {Readonly<Partial<Record<Field, number>>>} Figures
 * @typedef {{
 *   readonly says: string,
 *   readonly limit: (raw: number | undefined, skein: number | undefined) => number | undefined,
 *   readonly atLeast?: boolean
 * }} Target `limit` gets what raw and Skein reached in the scenario that this one is compared with
 * @typedef {{
 *   readonly title: string,
 *   readonly prompt?: string,
 *   readonly children: number,
 *   readonly rounds: number,
 *   readonly latency: number,
 *   readonly ideal: number,
 *   readonly resume: number,
 *   readonly base?: string,
 *   readonly measures: readonly [Field, ...ReadonlyArray<Field>]
 * }} Scenario no prompt means `--version`; latency and ideal are milliseconds; `resume` is how many rounds the session to
 * continue has; `base` is the scenario that it is compared with, when that is not the same one; the figure draws the first measure
 */

/** The name and unit of each figure, how many digits it deserves, and whether its ratio to the raw loop says anything. */
export const fields =
  /** @type {Readonly<Record<Field, readonly [name: string, digits: number, compared: boolean]>>} */ ({
    wallMs: ["wall time, ms", 0, true],
    cpuS: ["CPU, s", 2, true],
    memoryMb: ["memory, MB", 0, true],
    firstMs: ["first request after, ms", 0, true],
    overIdealMs: ["over the ideal, ms", 0, true],
    turnMs: ["client time a turn, ms", 1, true],
    turnGrowth: ["last turns to first turns", 2, false],
    mostOpen: ["requests open at once", 0, false]
  })

/** The scenarios of a complete benchmark. */
export const complete = ["version", "S1", "S2:8", "S2:100", "S3:100", "S4:200", "S5:200", "S6:32"]

const latency = 200
const rounds = 3

/**
 * @param {string} spec as in `complete`; the number is that of the subagents (S2, S3, S6) or of the rounds (S4, S5)
 * @returns {Scenario | undefined} undefined when there is no such scenario
 */
export const scenario = (spec) => {
  const [, kind, given = ""] = /^(version|S1|S[2-6](?=:))(?::([1-9]\d{0,4}))?$/.exec(spec) ?? []
  const n = Number(given)
  const single = { children: 0, rounds: 0, latency: 0, ideal: 0, resume: 0 }
  const fan = { ...single, prompt: `FANOUT n=${n} k=${rounds}`, children: n, rounds }
  switch (kind) {
    case "version":
      return { ...single, title: "`--version`; raw: an empty program", measures: ["wallMs"] }
    case "S1":
      return { ...single, title: "cold start, one answer", prompt: "PING", measures: ["firstMs", "wallMs"] }
    case "S2":
      return { ...fan, title: `${n} subagents in parallel`, measures: ["wallMs", "cpuS", "memoryMb"] }
    case "S3":
      return {
        ...fan,
        title: `${n} subagents, ${latency} ms a response`,
        latency,
        // The parent's two requests, and between them those of the children side by side.
        ideal: latency * (rounds + 3),
        measures: ["overIdealMs", "mostOpen"]
      }
    case "S4":
      return {
        ...single,
        title: `one session, ${n} turns`,
        prompt: `ROUNDS k=${n}`,
        rounds: n,
        measures: ["turnMs", "turnGrowth"]
      }
    case "S5":
      return {
        ...single,
        title: `continue a session of ${n} turns`,
        prompt: "PING",
        resume: n,
        base: "S1",
        measures: ["firstMs"]
      }
    case "S6":
      return {
        ...fan,
        title: `${n} subagents, answers in 200 pieces`,
        prompt: `${fan.prompt} c=200`,
        measures: ["wallMs", "cpuS"]
      }
  }
  return undefined
}

/** @param {number} times @returns {Target} */
const timesRaw = (times) => ({ says: `${times} × raw`, limit: (raw) => raw === undefined ? undefined : times * raw })

/** @param {number} value @param {string} unit @returns {Target} */
const most = (value, unit = "") => ({ says: `${value} ${unit}`.trim(), limit: () => value })

/** What Skein should reach, by scenario. @type {Readonly<Record<string, Readonly<Partial<Record<Field, Target>>>>>} */
export const targets = {
  version: { wallMs: most(130, "ms") },
  S1: { firstMs: timesRaw(4.5) },
  "S2:100": { wallMs: timesRaw(2.4), cpuS: timesRaw(3), memoryMb: most(180, "MB") },
  "S2:1000": { wallMs: timesRaw(2.8), memoryMb: most(600, "MB") },
  "S3:100": { overIdealMs: timesRaw(3), mostOpen: { says: "at least 100", limit: () => 100, atLeast: true } },
  "S4:200": { turnMs: timesRaw(2.2), turnGrowth: most(1.3) },
  "S5:200": {
    firstMs: { says: "S1 + 50 ms", limit: (_, skein) => skein === undefined ? undefined : skein + 50 }
  }
}
