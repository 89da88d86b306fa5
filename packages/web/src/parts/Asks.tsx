/**
 * Draws the questions that wait for a person, with their answers: exactly what would happen, which agent asks, and why.
 */
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { detailsOf, reasonOf, subjectOf } from "@skein/view/AskFacts"
import { visible, visibleLine } from "@skein/view/Visible"
import { useState } from "preact/hooks"
import { dismiss, pendingOf } from "../state/actions.ts"
import { pathOf } from "../state/route.ts"
import { reply } from "../state/wishes.ts"
import { Diff } from "./Diff.tsx"
import { Glyph } from "./Glyph.tsx"

type PermissionAsk = Extract<PendingAsk, { readonly type: "permission" }>
type QuestionAsk = Extract<PendingAsk, { readonly type: "question" }>

/** How many questions are drawn at a time. Each answer reveals the next one. */
const most = 20

const Details = ({ ask }: { readonly ask: PermissionAsk }) => {
  const rest = detailsOf(ask).filter(([key]) => key !== "diff")
  return rest.length === 0 ? null : (
    <dl class="details">
      {rest.map(([key, text]) => (
        <div key={key}>
          <dt>{visibleLine(key)}</dt>
          <dd>{visible(text).slice(0, 2_000)}</dd>
        </div>
      ))}
    </dl>
  )
}

const State = ({ about }: { readonly about: string }) => {
  const pending = pendingOf(about)
  if (pending === undefined) return null
  if (pending.problem === undefined) return <p class="pending">{pending.label} …</p>
  return (
    <p class="problem">
      {pending.problem} <button type="button" class="quiet" onClick={() => dismiss(about)}>Dismiss</button>
    </p>
  )
}

const PermissionAnswers = ({ ask }: { readonly ask: PermissionAsk }) => {
  const [scope, setScope] = useState<"tree" | "project">("tree")
  const [why, setWhy] = useState("")
  const isPending = pendingOf(ask.id)?.problem === undefined && pendingOf(ask.id) !== undefined
  const scopeID = `scope-${ask.id}`
  const whyID = `why-${ask.id}`
  const answer = (label: string, body: object) => void reply(ask.id, label, body)
  const message = why.trim() === "" ? {} : { message: why.trim() }
  return (
    <>
      {ask.always.length > 0
        ? (
          <p class="always">
            <span>Always would allow {ask.always.map((each) => <code key={each}>{visibleLine(each)}</code>)}</span>
            <label for={scopeID}>in</label>
            <select
              id={scopeID}
              value={scope}
              onChange={(event) => setScope(event.currentTarget.value === "project" ? "project" : "tree")}
            >
              <option value="tree">this session tree</option>
              <option value="project">this project</option>
            </select>
          </p>
        )
        : <p class="always">This is asked each time: no rule can allow it.</p>}
      <div class="answers">
        <button
          type="button"
          class="primary"
          disabled={isPending}
          onClick={() => answer("Allowing", { answer: "once" })}
        >
          Allow once
        </button>
        {ask.always.length > 0 && (
          <button
            type="button"
            disabled={isPending}
            onClick={() => answer("Allowing", { answer: "always", scope })}
          >
            Allow always
          </button>
        )}
        <button
          type="button"
          class="danger"
          disabled={isPending}
          onClick={() => answer("Rejecting", { answer: "reject", ...message })}
        >
          Reject
        </button>
        <label class="unseen" for={whyID}>Why you reject it; the agent reads that</label>
        <input
          id={whyID}
          type="text"
          placeholder="Why you reject it (optional)"
          value={why}
          onInput={(event) => setWhy(event.currentTarget.value)}
        />
      </div>
    </>
  )
}

const QuestionAnswers = ({ ask }: { readonly ask: QuestionAsk }) => {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const [words, setWords] = useState("")
  const isPending = pendingOf(ask.id)?.problem === undefined && pendingOf(ask.id) !== undefined
  const send = (answers: ReadonlyArray<string>) => void reply(ask.id, "Answering", { answers })
  const own = words.trim()
  const all = [...marked, ...(own === "" ? [] : [own])]
  const id = `answer-${ask.id}`
  const toggle = (label: string) => {
    const next = new Set(marked)
    if (!next.delete(label)) next.add(label)
    setMarked(next)
  }
  return (
    <form
      class="answers"
      onSubmit={(event) => {
        event.preventDefault()
        if (all.length > 0) send(all)
      }}
    >
      {ask.options.map(({ description, label }) => (
        <button
          key={label}
          type="button"
          disabled={isPending}
          aria-pressed={ask.multiple ? marked.has(label) : undefined}
          title={description}
          onClick={() => ask.multiple ? toggle(label) : send([label])}
        >
          {visibleLine(label)}
        </button>
      ))}
      <label class="unseen" for={id}>Your own answer</label>
      <input
        id={id}
        type="text"
        placeholder="Your own answer"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={isPending || all.length === 0}>Answer</button>
      <button
        type="button"
        disabled={isPending}
        onClick={() => void reply(ask.id, "Dismissing", { dismiss: true })}
      >
        No answer
      </button>
    </form>
  )
}

const Permission = ({ ask }: { readonly ask: PermissionAsk }) => {
  const reason = reasonOf(ask)
  const { diff } = ask.metadata
  return (
    <>
      <pre class="subject"><code>{visible(subjectOf(ask))}</code></pre>
      {typeof diff === "string" && <Diff text={diff} />}
      {reason !== undefined && <p class="reason">{visible(reason)}</p>}
      <Details ask={ask} />
      <PermissionAnswers ask={ask} />
    </>
  )
}

const holderText = ({ abandoned, holder }: PendingAsk): string | undefined => {
  if (abandoned === true) return "its process has ended: resume the session to answer"
  return holder === undefined ? undefined : `asked by ${holder.url ?? `process ${holder.pid ?? "?"}`}`
}

/** Which task and session asks, where it works, and since when. */
const Place = ({ ask }: { readonly ask: PendingAsk }) => {
  const { description, directory, since, title, worktree } = ask
  const facts = [
    description,
    title,
    worktree ?? directory,
    since === undefined ? undefined : `since ${new Date(since).toLocaleTimeString()}`,
    holderText(ask)
  ].filter((each) => each !== undefined)
  return facts.length === 0 ? null : <p class="quiet">{facts.map(visibleLine).join(" · ")}</p>
}

const Card = ({ ask }: { readonly ask: PendingAsk }) => {
  const what = ask.type === "permission" ? `asks for permission: ${ask.permission}` : "asks"
  const path = ask.path.map(visibleLine)
  return (
    <article class="ask" aria-label={`${path.join(" › ")} ${what}`}>
      <h3>
        <Glyph phase="asking" />
        <a href={pathOf(ask.rootID, "tree", ask.sessionID)}>{path.join(" › ")}</a> <span>{visibleLine(what)}</span>
      </h3>
      <Place ask={ask} />
      {ask.type === "permission"
        ? <Permission ask={ask} />
        : (
          <>
            <p class="question">{visible(ask.question)}</p>
            <QuestionAnswers ask={ask} />
          </>
        )}
      <State about={ask.id} />
    </article>
  )
}

/** The questions; nothing where none waits. */
export const Asks = ({ asks }: { readonly asks: ReadonlyArray<PendingAsk> }) => {
  if (asks.length === 0) return null
  return (
    <section class="asks" role="group" aria-label="Needs you">
      <h2>
        Needs you <span class="count">{asks.length}</span>
      </h2>
      {asks.slice(0, most).map((ask) => <Card key={ask.id} ask={ask} />)}
      {asks.length > most && <p class="quiet">And {asks.length - most} more, once these are answered.</p>}
    </section>
  )
}
