// @ts-check
// What the scripted model says: it knows a conversation by its first prompt, and how far it is by the calls in it. Each
// call says its step, in words that every tool takes, so that it makes no difference in how many requests it came there.

/**
 * @typedef {{ readonly id: string, readonly function: { readonly name: string, readonly arguments: string } }} WireCall
 * @typedef {{
 *   readonly role: string,
 *   readonly content?: unknown,
 *   readonly tool_calls?: ReadonlyArray<WireCall>,
 *   readonly tool_call_id?: string
 * }} WireMessage
 * @typedef {{ readonly tool: string, readonly args: Record<string, unknown> }} Call
 * @typedef {{ readonly text: string, readonly calls: ReadonlyArray<Call> }} Answer
 * @typedef {"root" | "child" | "background"} Who
 * @typedef {{
 *   readonly asks?: boolean,
 *   readonly compacts?: boolean
 * }} Variant what is in the script beside the usual
 */

/** The effects, by who makes them and in which step. */
export const effects = /** @type {const} */ ([
  ["a", "root", 1],
  ["b", "root", 3],
  ["c", "root", 7],
  ["d", "child", 0],
  ["e", "background", 0]
])

/** The step after which nothing is left to do but to answer. */
const last = { root: 9, child: 1, background: 2 }

/** @param {string} name @param {number} step */
const effect = (name, step) => ({
  tool: "bash",
  args: { command: `echo ${name} >> effects.log && echo made ${name} && sleep 0.02`, description: `step-${step}` }
})

/** @param {Who} who @param {number} step @param {boolean} [background] */
const task = (who, step, background) => ({
  tool: "task",
  args: {
    description: `${who} step-${step}`,
    prompt: `${who.toUpperCase()}: do your part`,
    subagent_type: "general",
    ...(background === true ? { background } : {})
  }
})

/** @type {Record<Who, (variant: Variant) => Record<number, ReadonlyArray<Call>>>} */
const scripts = {
  root: ({ asks = false }) => ({
    0: [{ tool: "read", args: { filePath: "step-0.txt" } }],
    1: [effect("a", 1)],
    2: [task("background", 2, true)],
    3: [effect("b", 3), { tool: "glob", args: { pattern: "*step-3*" } }],
    4: [task("child", 4)],
    5: [{ tool: "write", args: { filePath: "step-5.txt", content: "written in step-5\n" } }],
    6: [{ tool: "list", args: { path: ".", ignore: ["step-6"] } }],
    7: [effect("c", 7)],
    8: [
      { tool: "grep", args: { pattern: "step-8" } },
      ...(asks ? [{ tool: "webfetch", args: { url: "http://127.0.0.1:9/step-8" } }] : [])
    ]
  }),
  child: () => ({ 0: [effect("d", 0)] }),
  background: () => ({ 0: [effect("e", 0)], 1: [{ tool: "read", args: { filePath: "step-0.txt", limit: 1 } }] })
}

/** @param {unknown} content @returns {string} */
const flat = (content) =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((piece) => flat(piece?.text ?? "")).join("\n")
    : ""

/** @param {ReadonlyArray<WireMessage>} messages @returns {Who} */
export const whoIn = (messages) => {
  const first = flat(messages.find(({ role }) => role === "user")?.content)
  return first.startsWith("CHILD:") ? "child" : first.startsWith("BACKGROUND:") ? "background" : "root"
}

/** Whether what was said before was summarised. @param {ReadonlyArray<WireMessage>} messages */
export const isSummarised = (messages) =>
  messages.some(({ content, role }) => role === "user" && flat(content).includes("<summary>"))

/** The step that comes next. @param {ReadonlyArray<WireMessage>} messages */
export const stepIn = (messages) => {
  const texts = messages.flatMap(({ content, role, tool_calls: calls = [] }) => [
    ...calls.map((call) => call.function.arguments.replace(/"(command|prompt|content)":"(\\.|[^"\\])*"/g, "")),
    ...(role === "user" && flat(content).includes("<summary>") ? [flat(content)] : [])
  ])
  const steps = texts.flatMap((text) => [...text.matchAll(/step-(\d+)/g)].map(([, step]) => Number(step)))
  return 1 + Math.max(-1, ...steps)
}

/** What the model says next. @param {ReadonlyArray<WireMessage>} messages @param {Variant} variant @returns {Answer} */
export const answer = (messages, variant) => {
  const who = whoIn(messages)
  // A small file is read by the same name in the background's second step.
  const step = who === "background" ? messages.filter(({ role }) => role === "tool").length : stepIn(messages)
  const calls = scripts[who](variant)[step] ?? []
  const text = step >= last[who]
    ? `The ${who} is done.`
    : step === 6
    ? "It continues,  ".repeat(24)
    : `Now comes step ${step} of the ${who}.`
  return { text, calls }
}
