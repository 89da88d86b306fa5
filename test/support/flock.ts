/** A model for a tree of agents whose work continues when a test says so. */
import { type LlmAnswer, type LlmRequest, startLlm } from "./llm.ts"

/** What somebody waits for, and who opens it. */
interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

const makeGate = (): Gate => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { opened, open }
}

/** Delegates to subagents, all at once: each prompt begins with a word that names the task. */
export const delegate = (prompts: Readonly<Record<string, string>>): LlmAnswer => ({
  calls: Object.entries(prompts).map(([word, agent]) => ({
    tool: "task",
    args: { description: `Look at ${word}`, prompt: `${word} is yours.`, subagent_type: agent }
  }))
})

type Step = LlmAnswer | string | (() => LlmAnswer | string | Promise<LlmAnswer | string>)

/** What each agent answers, request by request: by the first word of its prompt. A stopped one is asked once more, to conclude. */
export type Steps = Readonly<Record<string, ReadonlyArray<Step>>>

/** A model whose agents do these steps one after the other; a step may wait for a gate. */
export const startFlock = async (steps: (gate: (name: string) => Promise<void>) => Steps) => {
  const gates = new Map<string, Gate>()
  const gateOf = (name: string): Gate => {
    const gate = gates.get(name) ?? makeGate()
    gates.set(name, gate)
    return gate
  }
  const script = steps((name) => gateOf(name).opened)
  const asked = new Map<string, number>()
  const answer = ({ user }: LlmRequest): LlmAnswer | string | Promise<LlmAnswer | string> => {
    const word = user[0]?.trim().split(/\s+/, 1)[0] ?? ""
    const before = asked.get(word) ?? 0
    asked.set(word, before + 1)
    const step = script[word]?.[before] ?? `${word} is done.`
    return typeof step === "function" ? step() : step
  }
  const llm = await startLlm(answer)
  return { ...llm, open: (name: string) => gateOf(name).open() }
}

/** A person's config in which subagents of the kind `lead` may delegate as well, and each command is asked about. */
export const leads = JSON.stringify({
  model: "openai/gpt-5",
  permission: { bash: "ask" },
  agent: { lead: { mode: "subagent", description: "Leads.", permission: { task: "allow" } } }
})
