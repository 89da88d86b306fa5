/** Runs the commands of a session, and those of the project. */
import { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { allPages, lastMessage } from "@skein/backend/Sessions"
import type { SessionID } from "@skein/domain/Id"
import { Mode } from "@skein/domain/Mode"
import { parseRef } from "@skein/domain/Model"
import { formatAgo, formatCost, formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { escapeLine, escapeText } from "../../Escape.ts"
import { Pager } from "../list/Pager.ts"
import { nearest, nearestNames } from "../list/Picker.ts"
import { builtins, helpLines, otherNames } from "../model/Completion.ts"
import { chosenAgent } from "../model/Facts.ts"
import type { Request } from "../model/Request.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import { type Acting, projectsOf, withFiles } from "./Acting.ts"
import { listings, printed } from "./listings.ts"
import { listPrompts } from "./rewind.ts"

type Run = (acting: Acting, words: string) => Effect.Effect<void, BackendError>

const current = ({ model }: Acting): SessionID | undefined => model.live?.tree.root.id

const page = ({ model }: Acting, title: string, lines: ReadonlyArray<string>) =>
  Effect.sync(() => model.views.page(new Pager(title, lines)))

/** For commands that need a session which is open. */
const withSession =
  (run: (acting: Acting, id: SessionID, words: string) => Effect.Effect<void, BackendError>): Run => (acting, words) =>
    Effect.suspend(() => {
      const id = current(acting)
      if (id !== undefined) return run(acting, id, words)
      acting.model.hint = "There is no session yet: write a prompt first."
      return Effect.void
    })

/** Lists the sessions of the project to choose from. */
export const pickSession = (model: SessionModel): Effect.Effect<void, BackendError, Backend> =>
  Effect.gen(function*() {
    const { sessions } = yield* Backend
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const { items: listed } = yield* sessions.list({ limit: 200 })
    const own = listed.filter(({ directory }) => directory === model.facts.directory)
    const others = listed.filter(({ directory }) => directory !== model.facts.directory)
    model.views.choose(
      "Sessions",
      [...own, ...others].map(({ directory, id, status, time, title }) => ({
        value: id,
        label: title === "" ? id : title,
        detail: [
          ...(status.type === "idle" ? [] : [status.type]),
          formatAgo(now - time.updated),
          ...(directory === model.facts.directory ? [] : [directory])
        ].join(" · ")
      })),
      (id) => model.request({ type: "open", session: id as SessionID })
    )
  })

const chooseModel: Run = (acting, words) =>
  Effect.gen(function*() {
    const { model, touch } = acting
    const projects = projectsOf(acting)
    const models = yield* projects.models(model.facts.directory)
    const usable = models.filter(({ available }) => available)
    const take = (name: string) => {
      const ref = parseRef(name)
      if (ref === undefined) {
        model.hint = `${name} names no model: write PROVIDER/MODEL.`
        return
      }
      model.facts.choice.model = ref
      model.facts.context = usable.find((each) => `${each.providerID}/${each.modelID}` === name)?.limit?.context
      model.say(`Model from the next prompt on: ${name}`)
      touch()
    }
    if (words !== "") {
      const ref = parseRef(words)
      const agent = chosenAgent(model.facts) ?? model.facts.agent ?? "build"
      const { directory } = model.facts
      const refused = ref === undefined
        ? undefined
        : yield* Effect.match(projects.modelFor(directory, { model: ref, agent }), {
          onFailure: ({ message }) => message,
          onSuccess: () => undefined
        })
      if (refused === undefined) return take(words)
      const near = nearestNames(words, usable.map(({ modelID, providerID }) => `${providerID}/${modelID}`))
      model.hint = near.length === 0 ? refused : `${refused} Did you mean ${near.join(" or ")}?`
      return
    }
    const choice = model.facts.choice.model
    model.views.choose(
      "Models",
      usable.map(({ limit, modelID, providerID }) => ({
        value: `${providerID}/${modelID}`,
        label: `${providerID}/${modelID}`,
        ...(limit === undefined ? {} : { detail: `${formatCount(limit.context)} tokens of context` })
      })),
      take,
      choice === undefined ? model.facts.model : `${choice.providerID}/${choice.modelID}`
    )
  })

const chooseAgent: Run = (acting, words) =>
  Effect.gen(function*() {
    const { model, touch } = acting
    // In the first moment they are not known yet.
    const { agents } = yield* projectsOf(acting).agents(model.facts.directory)
    const primary = agents.filter(({ hidden, mode }) => !hidden && mode !== "subagent")
    const take = (name: string) => {
      if (!primary.some((agent) => agent.name === name)) {
        model.hint = `There is no agent ${name} to prompt. There are ${primary.map((agent) => agent.name).join(", ")}.`
        return
      }
      if (name === "plan") return model.request({ type: "mode", mode: "plan" })
      const { choice, mode } = model.facts
      // In the mode plan only the agent plan works.
      if (mode === "plan") model.request({ type: "mode", mode: "ask" })
      choice.agent = name
      model.say(`Agent from the next prompt on: ${name}${mode === "plan" ? ", in the mode ask" : ""}`)
      touch()
    }
    if (words !== "") return take(words)
    model.views.choose(
      "Agents",
      primary.map(({ description = "", name }) => ({ value: name, label: name, detail: description })),
      take,
      model.facts.choice.agent ?? model.facts.agent
    )
  })

const modes: ReadonlyArray<readonly [mode: Mode, means: string]> = [
  ["plan", "reads and plans; changes nothing but plans"],
  ["ask", "asks before it edits or runs what the rules do not allow"],
  ["edits", "edits in the working directory need no question"],
  ["auto", "nothing is asked; what only a person may allow is denied"]
]

const chooseMode: Run = ({ model, touch }, words) =>
  Effect.sync(() => {
    const take = (mode: string) => {
      if (!Schema.is(Mode)(mode)) {
        model.hint = `There is no mode ${mode}. There are plan, ask, edits and auto.`
        return
      }
      if (mode !== "auto") return model.request({ type: "mode", mode })
      model.views.confirm("In the mode auto nothing is asked any more. Go on?", [
        { value: "no", label: "No" },
        { value: "yes", label: "Yes, ask nothing" }
      ], (answer) => answer === "yes" ? model.request({ type: "mode", mode }) : undefined)
    }
    if (words !== "") take(words)
    else {
      const items = modes.map(([value, detail]) => ({ value, label: value, detail }))
      model.views.choose("Modes", items, take, model.facts.mode)
    }
    touch()
  })

const cost = withSession(({ model }) =>
  Effect.sync(() => {
    const { tree } = model.live ?? {}
    if (tree === undefined) return
    const lines = tree.all.map(({ agent, children, title, usage }) => {
      const { input, output } = usage.tokens
      return `${agent}  ${title}: ${formatCount(input)} in, ${formatCount(output)} out, ${formatCost(usage.cost)}${
        children.length === 0 ? "" : ", with all below it"
      }`
    })
    for (const line of lines.slice(0, 40)) model.say(line)
    if (lines.length > 40) model.say(`… and ${lines.length - 40} more agents, see /tree`)
  })
)

const context = withSession(({ model }) =>
  Effect.sync(() => {
    const { context: size } = model.facts
    const used = model.used ?? 0
    model.say(
      size === undefined
        ? `The last request had ${formatCount(used)} tokens. The model's context size is unknown.`
        : `The last request had ${formatCount(used)} of ${formatCount(size)} tokens: ${
          Math.round(100 * used / size)
        }%. /compact shortens the conversation.`
    )
  })
)

const compact = withSession(({ backend, model, touch }, id) =>
  Effect.gen(function*() {
    model.hint = "The conversation is being shortened …"
    touch()
    const compacting = Effect.ensuring(backend.sessions.compact(id), Effect.sync(() => model.hint = ""))
    // That there is too little to shorten is no failure.
    yield* Effect.catchIf(
      compacting,
      ({ reason }) => reason === "nothing_to_do",
      ({ message }) => Effect.sync(() => model.say(message))
    )
  })
)

const tasks = withSession((acting, id) =>
  Effect.flatMap(
    allPages((paging) => acting.backend.tasks.list(id, paging)),
    (runs) =>
      page(
        acting,
        `Tasks: ${runs.length}`,
        runs.length === 0 ?
          ["This session has not delegated anything yet."] :
          runs.map(({ agent, background, description, outcome, state, taskID }) =>
            `${escapeLine(agent)}  ${escapeLine(description)}  ${outcome?.status ?? state}${
              background ? ", background" : ""
            }  ${taskID}`
          )
      )
  )
)

const diffHere: Run = (acting) =>
  Effect.flatMap(acting.host.shell(acting.model.facts.directory, "git diff HEAD"), ({ output }) => {
    const { bold, cyan, green, red } = acting.model.style
    const lines = output.trim() === ""
      ? ["No changes in tracked files."]
      : escapeText(output).trimEnd().replaceAll("\t", "  ").split("\n")
    return page(
      acting,
      "Changes in the working directory",
      lines.map((line) =>
        /^(?:diff|\+\+\+|---)/.test(line)
          ? bold(line)
          : line.startsWith("@@")
          ? cyan(line)
          : line.startsWith("+")
          ? green(line)
          : line.startsWith("-")
          ? red(line)
          : line
      )
    )
  })

const diff: Run = (acting, words) =>
  withFiles(
    acting,
    (place) => `The working directory is on ${place}, and its server does not tell what has changed there.`,
    diffHere(acting, words)
  )

const copy = withSession(({ backend, model, signals }, id) =>
  Effect.gen(function*() {
    const last = yield* lastMessage(backend.sessions, id, ({ info, parts }) =>
      info.role === "assistant" && parts.some(({ type }) =>
        type === "text"
      ))
    const text = last?.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n\n") ?? ""
    if (text === "") model.hint = "There is no answer to copy yet."
    else {
      model.hint = signals.copy(text)
        ? `Copied ${formatCount(text.length)} characters, where the terminal allows it.`
        : "A session of lines cannot copy. Use /export."
    }
  })
)

const exported = withSession(({ backend, host, model }, id, words) =>
  Effect.gen(function*() {
    const pieces = backend.sessions.archive(id)
    const file = yield* Effect.either(host.create(model.facts.directory, words === "" ? `${id}.json` : words, pieces))
    if (Either.isRight(file)) model.say(`The session and all below it are exported to ${file.right}`)
    else model.fail(file.left.message)
  })
)

const rename = withSession(({ backend, model }, id, words) =>
  words === ""
    ? Effect.sync(() => model.hint = "Write the title behind it: /rename TITLE")
    : Effect.zipRight(backend.sessions.rename(id, words), Effect.sync(() => model.say(`The title is now: ${words}`)))
)

const runs: Readonly<Record<string, Run>> = {
  ...listings,
  help: (acting) =>
    page(acting, "Help", helpLines(acting.model.style, acting.model.facts.commands, acting.size().columns - 1)),
  new: ({ close, model }) =>
    Effect.zipRight(close, Effect.sync(() => model.say("A new session begins with the next prompt."))),
  resume: (acting, words) =>
    words === ""
      ? Effect.provideService(pickSession(acting.model), Backend, acting.backend)
      : Effect.flatMap(acting.backend.sessions.ids("sessions", words, 2), ([first, second]) => {
        if (first !== undefined && second === undefined) return acting.open(first as SessionID)
        acting.model.hint = first === undefined
          ? `There is no session ${words}.`
          : `${words} is the beginning of several ids.`
        return Effect.void
      }),
  fork: withSession(({ backend, model, open }, id) =>
    Effect.gen(function*() {
      yield* open((yield* backend.sessions.fork(id)).id)
      model.say("This is a copy. The other session stays as it is.")
    })
  ),
  rewind: (acting) => listPrompts(acting),
  model: chooseModel,
  agent: chooseAgent,
  mode: chooseMode,
  compact,
  context,
  cost,
  tasks,
  tree: ({ model }) => Effect.sync(() => model.openTree()),
  mcp: (acting) =>
    withFiles(
      acting,
      (place) => `MCP servers are those of ${place}, and its server does not list them: skein mcp list, there.`,
      printed("MCP servers", ["mcp", "list"])(acting)
    ),
  // Its output is read here, so what it says of its terminal is not about the one that the person sees.
  doctor: printed("Checks", ["doctor"], (line) => !/^\w+\s+terminal\s/.test(line)),
  diff,
  copy,
  export: exported,
  rename,
  quit: ({ model }) => Effect.sync(() => model.request({ type: "quit" }))
}

/** Runs a command; one that does not exist is said, and not sent. */
export const runCommand = (
  acting: Acting,
  { after, name, words }: Extract<Request, { readonly type: "command" }>
): Effect.Effect<void, BackendError> =>
  Effect.suspend(() => {
    const { beside, ensure, model, send } = acting
    const isOfProject = model.facts.commands.some((command) => command.name === name)
    const called = !isOfProject && Object.hasOwn(otherNames, name) ? otherNames[name] ?? name : name
    const run = runs[called]
    if (run !== undefined && Object.hasOwn(runs, called)) return run(acting, words.trim())
    if (isOfProject) {
      return Effect.gen(function*() {
        const id = yield* ensure
        const prompted = yield* send(id, {
          command: { name, arguments: words },
          ...(after === undefined ? {} : { after })
        })
        yield* beside(Effect.catchTag(prompted.turn, "SessionStopped", () => Effect.void))
      })
    }
    const names = [...builtins, ...model.facts.commands].map((command) => command.name)
    const meant = nearest(name, names)
    model.input.set(`/${name}${words === "" ? "" : ` ${words}`}`)
    model.hint = `There is no command /${name}, so nothing was sent.${
      name === "login"
        ? " Keys of models are variables of the environment: see docs/models.md, and /model."
        : meant === undefined
        ? " See /help."
        : ` Did you mean /${meant}? See /help.`
    }`
    return Effect.void
  })
