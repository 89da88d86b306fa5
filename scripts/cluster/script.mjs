// @ts-check
// What the model of a fleet says. Each round of a tree delegates its parts to subagents, and each part makes one effect,
// which has a name of its own. A part whose outcome is unknown is looked for before it is made again.

/** @typedef {import("../crash/script.mjs").WireMessage} WireMessage */
/** @typedef {import("../crash/script.mjs").Answer} Answer */
/** @typedef {{ readonly tree: number, readonly round: number, readonly part: number | undefined }} About what a conversation is about */

/** @param {unknown} content @returns {string} */
const flat = (content) =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((piece) => flat(piece?.text ?? "")).join("\n")
    : ""

const prompted = /TREE (\d+) ROUND (\d+)(?: PART (\d+))?/

/** The newest prompt of a conversation, and what comes after it. @param {ReadonlyArray<WireMessage>} messages */
const newest = (messages) => {
  const at = messages.findLastIndex(({ content, role }) => role === "user" && prompted.test(flat(content)))
  const [, tree, round, part] = prompted.exec(flat(messages[at]?.content)) ?? []
  return {
    about: { tree: Number(tree), round: Number(round), part: part === undefined ? undefined : Number(part) },
    after: messages.slice(at + 1)
  }
}

/** @param {ReadonlyArray<WireMessage>} messages @returns {About} */
export const aboutIn = (messages) => newest(messages).about

/** The prompt of a round. @param {number} tree @param {number} round */
export const promptOf = (tree, round) => `TREE ${tree} ROUND ${round}`

/** The name of an effect. @param {number} tree @param {number} round @param {number} part */
export const effectOf = (tree, round, part) => `t${tree}-r${round}-p${part}`

/** @param {string} command @param {string} description */
const bash = (command, description) => ({ tool: "bash", args: { command, description } })

/** @param {string} name @param {number} seconds */
const make = (name, seconds) =>
  bash(`${seconds > 0 ? `sleep ${seconds} && ` : ""}echo ${name} >> effects.log && echo made ${name}`, "makes it")

/** @param {string} name */
const look = (name) => bash(`grep -cx ${name} effects.log; echo looked`, "looks for it")

/**
 * What a subagent says after its last call. @param {string} name @param {ReadonlyArray<WireMessage>} after @param {number}
 * seconds @returns {Answer}
 */
const part = (name, after, seconds) => {
  const asked = after.findLast(({ tool_calls: calls = [] }) => calls.length > 0)?.tool_calls?.[0]
  if (asked === undefined) return { text: "Now I make it.", calls: [make(name, seconds)] }
  const result = flat(after.findLast(({ tool_call_id: id }) => id === asked.id)?.content)
  const isLook = asked.function.arguments.includes("grep")
  const count = /^(\d+)\s+looked/.exec(result)?.[1]
  if (isLook ? count !== undefined && count !== "0" : result.includes(`made ${name}`)) {
    return { text: `${name} is made.`, calls: [] }
  }
  return isLook && count === "0"
    ? { text: "It was not made.", calls: [make(name, seconds)] }
    : { text: "Was it made?", calls: [look(name)] }
}

/**
 * Makes the function that says what comes next. `ended` is called with each round whose parts have all reported.
 * @param {{ readonly parts: number, readonly seconds: number, readonly ended: (about: About) => void, readonly faults: Array<string> }} options
 * @returns {(messages: ReadonlyArray<WireMessage>) => Answer}
 */
export const makeScript = ({ ended, faults, parts, seconds }) => (messages) => {
  const { about, after } = newest(messages)
  if (about.part !== undefined) return part(effectOf(about.tree, about.round, about.part), after, seconds)
  const results = after.filter(({ role }) => role === "tool").map(({ content }) => flat(content))
  if (results.length === 0) {
    const calls = Array.from({ length: parts }, (_, at) => ({
      tool: "task",
      args: {
        description: `Part ${at + 1}`,
        prompt: `${promptOf(about.tree, about.round)} PART ${at + 1}`,
        subagent_type: "general"
      }
    }))
    return { text: "I delegate.", calls }
  }
  for (const result of results) {
    if (!result.includes("is made.")) faults.push(`tree ${about.tree}, round ${about.round}: ${result.slice(0, 300)}`)
  }
  ended(about)
  return { text: "All parts are made.", calls: [] }
}
