// @ts-check
// What the mock model answers: a pure function of the conversation, so that every run of a scenario is the same run.
// The last user message that holds a marker decides:
//   PING            the text "PONG"
//   FANOUT n=8 k=3  n parallel calls of the tool `task`, prompted "CHILD <i> k=3"; after their results the text
//                   "PARENT DONE <how many different children said that they are done>"
//   CHILD <i> k=3   k rounds of one call of the tool `read`, then the text "CHILD <i> DONE rounds=<k> ok=<results that
//                   held the sentinel of the file that was asked for>"
//   ROUNDS k=200    the same rounds without a fan-out, then "ROUNDS DONE rounds=<k> ok=<..>"
// `c=200` behind one of them asks for the final texts in 200 pieces. A request without tools that is not a PING is answered with a title.

/**
 * @typedef {{ readonly role: string, readonly text: string, readonly calls: number }} Turn
 * @typedef {{ readonly tools: number, readonly system: string, readonly turns: ReadonlyArray<Turn> }} Conversation
 * @typedef {{ readonly name: string, readonly args: Readonly<Record<string, string>> }} Call
 * @typedef {"title" | "ping" | "fanout" | "parent-done" | "work" | "child-done" | "rounds-done"} Kind
 * @typedef {{
 *   readonly kind: Kind,
 *   readonly conversation: string,
 *   readonly round?: number,
 *   readonly ok?: number,
 *   readonly seen?: number,
 *   readonly pieces?: number,
 *   readonly text?: string,
 *   readonly calls?: ReadonlyArray<Call>
 * }} Answer
 */

/** The number of project files that the subagents read. */
export const files = 256

/** @param {number} index */
export const fileName = (index) => `f${String(index % files).padStart(3, "0")}.txt`

/**
 * What the first line of a file says, and a result must hold to count.
 * @param {number} index
 */
export const sentinel = (index) => `SENTINEL-${index % files}-END`

const marker = /\b(PING|FANOUT(?= n=)|CHILD(?= \d+ k=)|ROUNDS(?= k=))\b(?: (\d+))?((?: \w+=\d+)*)/

/**
 * @param {Conversation} conversation
 * @param {string} project the directory of the files
 * @returns {Answer}
 */
export const answer = ({ system, tools, turns }, project) => {
  const at = turns.findLastIndex((turn) => turn.role === "user" && marker.test(turn.text))
  const [, mark, index = "", settings = ""] = marker.exec(turns[at]?.text ?? "") ?? []
  const isTitle = mark === undefined || (tools === 0 && (mark !== "PING" || /title|summar|topic/i.test(system)))
  if (isTitle) return { kind: "title", conversation: "title", text: "Short title" }

  /** @param {string} name @param {number} otherwise */
  const setting = (name, otherwise) => Number(new RegExp(` ${name}=(\\d+)`).exec(settings)?.[1] ?? otherwise)
  const rounds = setting("k", 0)
  const pieces = setting("c", 1)
  const after = turns.slice(at + 1)
  const round = after.filter((turn) => turn.role === "assistant" && turn.calls > 0).length
  const results = after.filter((turn) => turn.role === "tool").map((turn) => turn.text)

  if (mark === "PING") return { kind: "ping", conversation: "parent", round, text: "PONG" }
  if (mark === "FANOUT") {
    if (round === 0) {
      const suffix = pieces > 1 ? ` c=${pieces}` : ""
      const calls = Array.from({ length: setting("n", 0) }, (_, child) => ({
        name: "task",
        args: { description: `child ${child}`, prompt: `CHILD ${child} k=${rounds}${suffix}`, subagent_type: "general" }
      }))
      return { kind: "fanout", conversation: "parent", round, calls }
    }
    const done = results.flatMap((text) => [...text.matchAll(/CHILD (\d+) DONE/g)].map(([, child]) => child))
    const seen = new Set(done).size
    return { kind: "parent-done", conversation: "parent", round, seen, pieces, text: `PARENT DONE ${seen}` }
  }

  const first = Number(index)
  const conversation = mark === "CHILD" ? `child-${index}` : "parent"
  const ok = results.filter((text, result) => text.includes(sentinel(first + result))).length
  if (round < rounds) {
    const calls = [{ name: "read", args: { filePath: `${project}/${fileName(first + round)}` } }]
    return { kind: "work", conversation, round, ok, calls }
  }
  return {
    kind: mark === "CHILD" ? "child-done" : "rounds-done",
    conversation,
    round,
    ok,
    pieces,
    text: `${mark}${index === "" ? "" : ` ${index}`} DONE rounds=${round} ok=${ok}`
  }
}
