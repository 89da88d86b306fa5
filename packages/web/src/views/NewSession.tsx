/** Draws the form that creates a session. */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { useEffect, useState } from "preact/hooks"
import { Problem } from "../parts/Notices.tsx"
import { note } from "../state/actions.ts"
import { ask, askItems, messageOf } from "../state/api.ts"
import type { HomeStore } from "../state/HomeStore.ts"
import { go, pathOf } from "../state/route.ts"
import { promptOf } from "../state/wishes.ts"

interface Choices {
  readonly agents: ReadonlyArray<string>
  readonly models: ReadonlyArray<string>
}

const nothing: Choices = { agents: [], models: [] }

/** What the project of a directory offers; nothing while the directory is invalid. */
const readChoices = async (directory: string, signal: AbortSignal): Promise<Choices> => {
  const query = `directory=${encodeURIComponent(directory)}`
  const [agents, models] = await Promise.all([
    askItems<{ readonly name: string; readonly mode: string; readonly hidden: boolean }>(
      `/v1/agents?limit=500&${query}`,
      signal
    ),
    askItems<{ readonly providerID: string; readonly modelID: string; readonly available: boolean }>(
      `/v1/models?limit=500&${query}`,
      signal
    )
  ])
  return {
    agents: agents.filter(({ hidden, mode }) => mode !== "subagent" && !hidden).map(({ name }) => name),
    models: models.filter(({ available }) => available).map(({ modelID, providerID }) => `${providerID}/${modelID}`)
  }
}

interface Draft {
  readonly directory: string
  readonly agent: string
  readonly model: string
  readonly mode: string
  readonly text: string
}

const begin = async ({ agent, directory, mode, model, text }: Draft): Promise<void> => {
  const at = model.indexOf("/")
  const body = text.trim() === ""
    ? undefined
    : await promptOf(text, `directory=${encodeURIComponent(directory.trim())}`)
  const session = await ask<SessionInfo>("POST", "/v1/sessions", {
    body: {
      directory: directory.trim(),
      ...(agent === "" ? {} : { agent }),
      ...(mode === "" ? {} : { mode }),
      ...(at < 0 ? {} : { model: { providerID: model.slice(0, at), modelID: model.slice(at + 1) } })
    }
  })
  if (body !== undefined) {
    const path = `/v1/sessions/${session.id}/prompt`
    const sent = { body, idempotencyKey: crypto.randomUUID() }
    note(session.id, (await ask<{ readonly notes?: ReadonlyArray<string> }>("POST", path, sent)).notes ?? [])
  }
  go(pathOf(session.id))
}

/** The form. */
export const NewSession = ({ store }: { readonly store: HomeStore }) => {
  void store.revision.value
  const [draft, setDraft] = useState<Draft>({ directory: "", agent: "", model: "", mode: "", text: "" })
  const [choices, setChoices] = useState(nothing)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isSending, setSending] = useState(false)
  const { directory } = draft
  const known = store.directories
  useEffect(() => {
    const propose = (place: string) => setDraft((now) => now.directory === "" ? { ...now, directory: place } : now)
    if (known[0] !== undefined) return propose(known[0])
    const end = new AbortController()
    // Before the first session, the server's own directory is the best guess. Without one, the field stays empty.
    ask<{ readonly directory?: string }>("GET", "/v1/server", { signal: end.signal })
      .then(({ directory: place }) => place !== undefined && propose(place), () => undefined)
    return () => end.abort()
  }, [known.length])
  useEffect(() => {
    const end = new AbortController()
    if (directory.startsWith("/")) {
      readChoices(directory, end.signal).then(setChoices, () => end.signal.aborted || setChoices(nothing))
    }
    return () => end.abort()
  }, [directory])
  const change = (key: keyof Draft) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setDraft({ ...draft, [key]: event.currentTarget.value })
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault()
        setSending(true)
        setProblem(undefined)
        begin(draft).catch((error: unknown) => {
          setProblem(messageOf(error))
          setSending(false)
        })
      }}
    >
      <h1>New session</h1>
      <label for="new-directory">Directory on the machine of the server</label>
      <input id="new-directory" list="known-directories" required value={directory} onInput={change("directory")} />
      <datalist id="known-directories">{known.map((each) => <option key={each} value={each} />)}</datalist>
      <label for="new-text">Prompt</label>
      <textarea id="new-text" rows={4} value={draft.text} onInput={change("text")} />
      <div class="fields">
        <span>
          <label for="new-agent">Agent</label>
          <select id="new-agent" value={draft.agent} onChange={change("agent")}>
            <option value="">default</option>
            {choices.agents.map((each) => <option key={each}>{each}</option>)}
          </select>
        </span>
        <span>
          <label for="new-model">Model</label>
          <select id="new-model" value={draft.model} onChange={change("model")}>
            <option value="">default</option>
            {choices.models.map((each) => <option key={each}>{each}</option>)}
          </select>
        </span>
        <span>
          <label for="new-mode">Permission</label>
          <select id="new-mode" value={draft.mode} onChange={change("mode")}>
            <option value="">default</option>
            <option value="plan">plan: nothing changes but the plan</option>
            <option value="ask">ask: edits are asked for</option>
            <option value="edits">edits: no question for edits here</option>
            <option value="auto">auto: nothing is asked</option>
          </select>
        </span>
      </div>
      {problem !== undefined && <Problem text={problem} />}
      <button type="submit" class="primary" disabled={isSending}>{isSending ? "Beginning …" : "Begin"}</button>
    </form>
  )
}
