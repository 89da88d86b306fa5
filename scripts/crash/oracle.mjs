// @ts-check
// What must be true at the end of a run, however often it was killed: nothing is lost, repeated or misreported.
import { isDeepStrictEqual } from "node:util"
import { effects, isNotBegun, isUnclear, writtenCarefully } from "./script.mjs"

/** @typedef {import("./world.mjs").Line} Line */
/**
 * @typedef {{
 *   readonly stored: import("./world.mjs").Found | undefined,
 *   readonly made: ReadonlyArray<string>,
 *   readonly journal: ReadonlyArray<Line>,
 *   readonly ended: import("./world.mjs").Ended,
 *   readonly faults: ReadonlyArray<string>,
 *   readonly isAsked: boolean,
 *   readonly written?: string | undefined
 * }} Case `written` is the file of step 5 if a careful model was asked
 * @typedef {{ unknown: number, lost: Array<string>, doubled: Array<string>, invalid: Array<string> }} Judgement
 */

/** @param {any} part @returns {string} */
const errorOf = (part) => part.state?.status === "error" ? part.state.error.message : ""

/** @param {any} part */
const isUnknown = (part) => isUnclear(errorOf(part))

/** @param {any} part */
const isNotRun = (part) => isNotBegun(errorOf(part))

/** How a call ended. @param {any} part */
const wordsOf = ({ state }) =>
  `${state.status} (${state.status === "error" ? state.error.message : JSON.stringify(state.output)})`

/**
 * Each effect was made once, or nobody claims to know. A careful model has looked, and repeated what was not made.
 * @param {Judgement} found @param {ReadonlyArray<string>} made @param {ReadonlyArray<any>} parts @param {boolean} isCareful
 */
const judgeEffects = (found, made, parts, isCareful) => {
  for (const [name] of effects) {
    const count = made.filter((line) => line === name).length
    const calls = parts.filter((part) =>
      part.type === "tool" && part.tool === "bash" && part.state.input?.command?.includes?.(`echo ${name} >>`)
    )
    const said = calls.map(wordsOf).join(", ")
    const completed = calls.filter((part) => part.state.status === "completed").length
    const ambiguous = calls.filter(isUnknown).length
    found.unknown += ambiguous
    if (count > 1) found.doubled.push(`effect ${name} was made ${count} times: ${said}`)
    if (completed > count) {
      found.lost.push(`effect ${name} is reported as made ${completed} times and was made ${count} times`)
    }
    if (count > completed + ambiguous) found.invalid.push(`effect ${name} was made and is not reported: ${said}`)
    if (count === 0 && (isCareful || ambiguous === 0)) found.lost.push(`effect ${name} was never made: ${said}`)
    if (count > 0 && calls.length > 0 && calls.every(isNotRun)) {
      found.invalid.push(`effect ${name} is reported as not run`)
    }
  }
}

/** What a client saw as ended stays as it was. @param {Judgement} found @param {ReadonlyArray<Line>} journal @param {import("./world.mjs").Found} stored */
const judgeAcknowledged = (found, journal, stored) => {
  const parts = new Map(stored.parts.map((part) => [part.id, part]))
  const messages = new Map(stored.messages.map((message) => [message.id, message]))
  const runs = new Map(stored.runs.map((run) => [run.id, run]))
  const sessions = new Set(stored.sessions.map(({ id }) => id))
  for (const { properties, type } of journal) {
    if (type === "session.created" && !sessions.has(properties.info.id)) {
      found.lost.push(`session ${properties.info.id} was published and is not stored`)
    }
    if (type === "message.updated" && !messages.has(properties.info.id)) {
      found.lost.push(`message ${properties.info.id} was published and is not stored`)
    }
    if (type === "message.updated" && properties.info.time.completed !== undefined) {
      const { id } = properties.info
      if (!isDeepStrictEqual(messages.get(id), properties.info)) found.lost.push(`the ended message ${id} was changed`)
    }
    if (type === "message.part.updated") judgePart(found, properties.part, parts.get(properties.part.id))
    if ((type === "subagent.completed" || type === "subagent.failed")) {
      const run = runs.get(properties.run_id)
      if (!isDeepStrictEqual(run?.outcome, properties.outcome)) {
        found.lost.push(`the outcome of ${properties.run_id} was changed`)
      }
    }
  }
}

/** @param {Judgement} found @param {any} published @param {any} stored */
const judgePart = (found, published, stored) => {
  const hasEnded = published.type === "tool"
    ? published.state.status === "completed" || published.state.status === "error"
    : published.type !== "text" || (published.time?.end !== undefined && published.text !== "")
  if (!hasEnded) return
  if (stored === undefined) {
    found.lost.push(`the part ${published.id} (${published.type}) was published and is not stored`)
  } else if (published.type !== "step-start" && !isDeepStrictEqual(stored, published)) {
    // The start of a step says whether a try is out: it changes with each one.
    found.lost.push(`the ended part ${published.id} (${published.type}) was changed`)
  }
}

/** Each run has one outcome, which its caller hears once. @param {Judgement} found @param {import("./world.mjs").Found} stored */
const judgeRuns = (found, { messages, parts, runs }) => {
  if (runs.length !== 2) found[runs.length > 2 ? "doubled" : "lost"].push(`${runs.length} runs in the place of 2`)
  const users = new Set(messages.filter(({ role }) => role === "user").map(({ id }) => id))
  for (const run of runs) {
    if (run.state !== "settled") found.invalid.push(`run ${run.id} is ${run.state}`)
    else if (run.outcome.status !== "completed") {
      found.invalid.push(`run ${run.id} of ${run.description} ended as ${JSON.stringify(run.outcome)}`)
    }
    const word = run.background ? "The background is done." : "The child is done."
    const reported = parts.filter((part) =>
      run.background
        ? users.has(part.messageID) && part.type === "text" && part.text.includes(`run_id="${run.id}"`)
        : part.type === "tool" && part.tool === "task" && part.state.status === "completed" &&
          part.state.output.includes(word)
    ).length
    if (reported > 1) found.doubled.push(`the outcome of ${run.description} was reported ${reported} times`)
    if (reported === 0) found.lost.push(`the outcome of ${run.description} was not reported`)
  }
}

/** @param {Case} given @returns {Judgement} */
export const judge = ({ ended, faults, isAsked, journal, made, stored, written }) => {
  /** @type {Judgement} */
  const found = { unknown: 0, lost: [], doubled: [], invalid: [...new Set(faults)] }
  if (stored === undefined) {
    found.lost.push("there is no database")
    return found
  }
  const isRight = ended.code === 0 || (isAsked && ended.code === 3)
  if (!isRight) found.invalid.push(`it ended with ${ended.code ?? ended.signal}: ${ended.stderr.trim().slice(-600)}`)
  const result = ended.lines.at(-1)
  if (isRight && (result?.type !== "result" || result["text"] !== "The root is done.")) {
    found.invalid.push(`its result is ${JSON.stringify(result)?.slice(0, 300)}`)
  }
  if (stored.integrity !== "ok") found.invalid.push(`integrity_check says ${stored.integrity}`)
  if (stored.waiting > 0) found.invalid.push(`${stored.waiting} rows wait in inboxes`)
  const roots = stored.sessions.filter(({ depth }) => depth === 0).length
  if (roots !== 1) found.doubled.push(`there are ${roots} roots`)
  for (const { id, turn } of stored.sessions) {
    if (turn?.ended === undefined) found.invalid.push(`the turn of ${id} is open`)
  }
  for (const part of stored.parts) {
    if (part.type !== "tool" || part.state.status === "completed" || part.state.status === "error") continue
    found.invalid.push(`the call ${part.id} of ${part.tool} is ${part.state.status}`)
  }
  const summaries = stored.parts.filter(({ type }) => type === "compaction").length
  if (summaries > 1) found.doubled.push(`there are ${summaries} summaries`)
  judgeEffects(found, made, stored.parts, written !== undefined)
  if (written !== undefined && written !== writtenCarefully) {
    found.lost.push(`step-5.txt holds ${JSON.stringify(written)}`)
  }
  judgeAcknowledged(found, journal, stored)
  judgeRuns(found, stored)
  return found
}
