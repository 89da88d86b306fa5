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
 *   readonly compacts?: boolean,
 *   readonly careful?: boolean
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

/** How long the commands of a careful model take before their effect, in seconds; `c` outlives the lease of its runner. */
const delays = /** @type {Readonly<Record<string, number>>} */ ({ a: 0, b: 1, c: 6, d: 1, e: 1 })

/** What the file of step 5 holds in the end, if a careful model wrote it: `c` adds a line. */
export const writtenCarefully = "written in step-5\nc\n"

/** @param {string} name */
const carefulCommand = (name) =>
  `sleep ${delays[name]} && echo ${name} >> effects.log${
    name === "c" ? " && echo c >> step-5.txt" : ""
  } && echo made ${name}`

/**
 * An effect. A careful model makes slow ones, so that there is time to interrupt them before they are made. @param {string}
 * name @param {number} step @param {boolean} [careful]
 */
const effect = (name, step, careful = false) => ({
  tool: "bash",
  args: {
    command: careful
      ? carefulCommand(name)
      : `echo ${name} >> effects.log && echo made ${name} && sleep 0.02`,
    description: `step-${step}`
  }
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
  root: ({ asks = false, careful }) => ({
    0: [{ tool: "read", args: { filePath: "step-0.txt" } }],
    1: [effect("a", 1, careful)],
    2: [task("background", 2, true)],
    3: [effect("b", 3, careful), { tool: "glob", args: { pattern: "*step-3*" } }],
    4: [task("child", 4)],
    5: [{ tool: "write", args: { filePath: "step-5.txt", content: "written in step-5\n" } }],
    6: [{ tool: "list", args: { path: ".", ignore: ["step-6"] } }],
    7: [effect("c", 7, careful)],
    8: [
      { tool: "grep", args: { pattern: "step-8" } },
      ...(asks ? [{ tool: "webfetch", args: { url: "http://127.0.0.1:9/step-8" } }] : [])
    ]
  }),
  child: ({ careful }) => ({ 0: [effect("d", 0, careful)] }),
  background: ({ careful }) => ({
    0: [effect("e", 0, careful)],
    1: [{ tool: "read", args: { filePath: "step-0.txt", limit: 1 } }]
  })
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

/** @param {ReadonlyArray<WireMessage>} messages */
const backgroundStep = (messages) => {
  const calls = messages.flatMap(({ tool_calls: made = [] }) => made)
  const isEffect = (/** @type {WireCall} */ call) => aboutIn(call).made !== undefined
  return Number(calls.some(isEffect)) + Number(calls.some((call) => call.function.name === "read"))
}

/** The name of the effect that a call makes, and of the one that it looks for. @param {WireCall} call */
const aboutIn = (call) => {
  const [, made] = /echo (\w) >>/.exec(call.function.arguments) ?? []
  const [, sought] = /look for (\w)/.exec(call.function.arguments) ?? []
  return { made, sought }
}

/** Whether a result says that nobody knows what a call did. @param {string} result */
export const isUnclear = (result) => /outcome (is )?unknown|was killed before it ended/i.test(result)

/** Whether a result says that a call did not begin. @param {string} result */
export const isNotBegun = (result) => /was not run|not started|could not be started/i.test(result)

/**
 * What a careful model does about an effect whose outcome is unknown: it looks, and repeats what was not made. @param
 * {ReadonlyArray<WireMessage>} messages @returns {Answer | undefined}
 */
const checked = (messages) => {
  const asked = messages.findLastIndex(({ tool_calls: calls = [] }) => calls.length > 0)
  for (const call of messages[asked]?.tool_calls ?? []) {
    const result = flat(messages.slice(asked).find(({ tool_call_id: id }) => id === call.id)?.content)
    const { made, sought } = aboutIn(call)
    if (made !== undefined && (isUnclear(result) || isNotBegun(result))) {
      const look = { tool: "bash", args: { command: "cat effects.log; true", description: `look for ${made}` } }
      return { text: `Was ${made} made?`, calls: [look] }
    }
    // It looks again if it could not.
    if (sought !== undefined && /unknown|killed before|not run|not be started|interrupted/i.test(result)) {
      const look = { tool: "bash", args: { command: "cat effects.log; true", description: `look for ${sought}` } }
      return { text: `Was ${sought} made, then?`, calls: [look] }
    }
    const step = effects.find(([name]) => name === sought)?.[2]
    if (sought !== undefined && step !== undefined && !result.split("\n").includes(sought)) {
      return { text: `${sought} was not made.`, calls: [effect(sought, step, true)] }
    }
  }
  return undefined
}

/** What the model says next. @param {ReadonlyArray<WireMessage>} messages @param {Variant} variant @returns {Answer} */
export const answer = (messages, variant) => {
  const who = whoIn(messages)
  const check = variant.careful === true ? checked(messages) : undefined
  if (check !== undefined) return check
  // A small file is read by the same name in the background's second step.
  const step = who === "background" ? backgroundStep(messages) : stepIn(messages)
  const calls = scripts[who](variant)[step] ?? []
  const text = step >= last[who]
    ? `The ${who} is done.`
    : step === 6
    ? "It continues,  ".repeat(24)
    : `Now comes step ${step} of the ${who}.`
  return { text, calls }
}
