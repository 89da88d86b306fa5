// @ts-check
// One run of the script: starts it, kills it as planned, continues it until it is done, and then checks it.
import { startModel } from "./model.mjs"
import { judge } from "./oracle.mjs"
import { makeWorld } from "./world.mjs"

/** @typedef {import("./world.mjs").Death} Death */
/** @typedef {import("./script.mjs").Variant} Variant */
/**
 * @typedef {{
 *   readonly label: string,
 *   readonly deaths: ReadonlyArray<Death>,
 *   readonly auto: boolean,
 *   readonly variant?: Variant | undefined,
 *   readonly program?: string | undefined
 * }} Plan
 * @typedef {{
 *   readonly label: string,
 *   readonly kills: number,
 *   readonly starts: number,
 *   readonly milliseconds: number,
 *   readonly unknown: number,
 *   readonly lost: ReadonlyArray<string>,
 *   readonly doubled: ReadonlyArray<string>,
 *   readonly invalid: ReadonlyArray<string>,
 *   readonly recoveries?: ReadonlyArray<{ readonly how: string, readonly took: number }>
 * }} Verdict `recoveries`: how long trees were without a process (ms), and what had happened to it
 */

/** How often the program is started for one run, at most. */
const most = 12

const prompt = "Do all the steps, one after the other."

/**
 * How a run continues after a kill: with its session, or from the start if the prompt was not acknowledged. @param
 * {import("./world.mjs").World} world @param {ReadonlyArray<string>} flags
 */
const next = (world, flags) => {
  const found = world.look()
  const [session] = found?.sessions.filter(({ depth }) => depth === 0) ?? []
  if (session === undefined) return ["run", ...flags, "--title", "crash", "-m", "openai/m", prompt]
  const isPrompted = found?.inbox.some(({ kind }) => kind === "prompt") === true
  return isPrompted
    ? ["sessions", "resume", ...flags, session.id]
    : ["run", ...flags, "-m", "openai/m", "-s", session.id, prompt]
}

/**
 * Carries out a plan.
 * @param {Plan} plan
 * @returns {Promise<Verdict>}
 */
export const drive = async ({ auto, deaths, label, program, variant }) => {
  const model = await startModel(variant)
  const world = makeWorld({ url: model.url, program })
  const flags = ["--format", "json", ...(auto && variant?.asks !== true ? ["--auto"] : [])]
  const began = performance.now()
  /** @type {Array<import("./world.mjs").Line>} */
  const journal = []
  /** @type {Array<string>} */
  const trouble = []
  /** @type {import("./world.mjs").Ended | undefined} */
  let last
  let starts = 0
  let kills = 0
  const left = [...deaths]
  try {
    for (;;) {
      const args = next(world, flags)
      if (journal.some(isPrompt) && args[0] === "run") trouble.push("a prompt that was acknowledged is not stored")
      starts++
      last = await world.run(args, left.shift())
      journal.push(...last.lines)
      if (last.hung) trouble.push(`\`skein ${args.slice(0, 2).join(" ")}\` hung`)
      if (last.signal !== "SIGKILL" || last.hung) break
      kills++
      if (starts === most) {
        trouble.push("it did not end")
        break
      }
    }
    const verdict = judge({
      stored: world.look(),
      made: world.effects(),
      journal,
      ended: last,
      faults: model.faults,
      isAsked: variant?.asks === true
    })
    return {
      label,
      kills,
      starts,
      milliseconds: performance.now() - began,
      ...verdict,
      invalid: [...trouble, ...verdict.invalid]
    }
  } finally {
    model.close()
    if (process.env["SKEIN_CRASH_KEEP"] === undefined) world.remove()
    else process.stderr.write(`crash: ${label}: ${world.base}\n`)
  }
}

/** @param {import("./world.mjs").Line} line */
const isPrompt = ({ depth, properties, type }) =>
  type === "message.updated" && depth === 0 && properties?.info?.role === "user"
