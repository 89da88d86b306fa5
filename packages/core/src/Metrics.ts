/**
 * Decides what to measure of models, tools and tasks. The metrics are in Effect's registry under these names. Durations
 * are in seconds.
 */
import type { ModelRef } from "@skein/domain/Model"
import { knownCost, type Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import type { RequestOrigin } from "./Provider.ts"

type Labels = ReadonlyArray<MetricLabel.MetricLabel>

/** The buckets that OpenTelemetry recommends for model requests. */
const requestSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const workSeconds = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1800, 3600]
const tokenCounts = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304]

const histogram = (
  name: string,
  boundaries: ReadonlyArray<number>,
  description: string
): Metric.Metric.Histogram<number> => Metric.histogram(name, MetricBoundaries.fromIterable(boundaries), description)

const counter = (name: string, description: string, incremental = true): Metric.Metric.Counter<number> =>
  Metric.counter(name, { description, incremental })

/** Model requests by model, purpose and outcome; each try counts. */
export const requestDuration = histogram(
  "gen_ai.client.operation.duration",
  requestSeconds,
  "Model requests, counting each try"
)
/** Tokens of a request by kind: `input` and `output` are totals, `cache_read`, `cache_write` and `reasoning` parts of them. */
export const tokenUsage = histogram("gen_ai.client.token.usage", tokenCounts, "Tokens of a request, by kind")
/** What requests cost, where prices are known. */
export const cost = counter("skein.cost", "What requests cost, where prices are known")
/** Tries that are retried, by what went wrong. */
export const retries = counter("skein.model.retries", "Tries that are followed by another one")
/** How long requests waited at the gate of their rate limit. Requests that did not wait are not counted. */
export const requestWait = histogram("skein.request.wait", workSeconds, "How long requests waited to be sent")
/** Current requests: those in flight, and those that wait at the gate of their rate limit. */
export const requests = counter("skein.requests", "Requests that are sent, and those that wait", false)
/** Tool calls from start to result, including the wait for a person's permission. */
export const toolDuration = histogram("skein.tool.duration", workSeconds, "Tool calls from beginning to result")
/** Runs of tasks, from request to outcome. */
export const taskDuration = histogram("skein.task.duration", workSeconds, "Runs of tasks from request to outcome")
/** Current subagents: those that work, and those that wait for a slot. */
export const agents = counter("skein.agents", "Subagents that work, and those that wait for a slot", false)
/** Trees of sessions that this process holds now. */
export const trees = counter("skein.trees", "Trees of sessions that this process holds", false)
/** Trees that this process held, and that another one took over. */
export const leasesLost = counter("skein.leases.lost", "Trees that another process took over from this one")
/** Trees that this server took up, from the last sign of life of the server before. */
export const takeoverDuration = histogram(
  "skein.takeover.duration",
  workSeconds,
  "Trees that this server took up, since the server before was last seen"
)
/** Current questions that wait for a person: for consent to a call, and those that agents ask. */
export const asks = counter("skein.asks", "Questions that wait for a person", false)
/** Trees of the cluster that nobody continues, by the reason. Every server tells the same. */
export const waitingTrees = Metric.gauge("skein.cluster.trees", {
  description: "Trees with unfinished work that nobody continues"
})
/** Servers of the cluster by state. */
export const servers = Metric.gauge("skein.cluster.servers", { description: "Servers of the cluster" })

// A metric finds its cell by the identity of the label array. Looking it up by text would hash at each update.
const known = new Map<string, Labels>()

/** The unit, then names and values in turn. */
const labels = (unit: string, ...words: ReadonlyArray<string>): Labels => {
  const key = `${unit}\0${words.join("\0")}`
  const found = known.get(key)
  if (found !== undefined) return found
  const made = [MetricLabel.make("unit", unit)]
  for (let at = 0; at + 1 < words.length; at += 2) made.push(MetricLabel.make(words[at] ?? "", words[at + 1] ?? ""))
  known.set(key, made)
  return made
}

const ofModel = (unit: string, { modelID, providerID }: ModelRef, ...more: ReadonlyArray<string>): Labels =>
  labels(unit, "gen_ai.provider.name", providerID, "gen_ai.request.model", modelID, ...more)

/** Counts a request; `outcome` is `completed`, `interrupted` or what went wrong. */
export const countRequest = (
  model: ModelRef,
  purpose: RequestOrigin["purpose"],
  outcome: string,
  milliseconds: number
): void =>
  requestDuration.unsafeUpdate(
    milliseconds / 1000,
    ofModel("s", model, "gen_ai.operation.name", "chat", "skein.purpose", purpose, "skein.outcome", outcome)
  )

const countTokens = (model: ModelRef, kind: string, count: number): void => {
  if (count > 0) tokenUsage.unsafeUpdate(count, ofModel("{token}", model, "gen_ai.token.type", kind))
}

/** Counts what a request used. */
export const countUsage = (model: ModelRef, { cost: spent, tokens }: Pick<Usage, "cost" | "tokens">): void => {
  countTokens(model, "input", tokens.input)
  countTokens(model, "output", tokens.output)
  countTokens(model, "cache_read", tokens.cacheRead)
  countTokens(model, "cache_write", tokens.cacheWrite)
  countTokens(model, "reasoning", tokens.reasoning)
  const amount = Number(knownCost(spent))
  if (amount > 0) cost.unsafeUpdate(amount, ofModel("USD", model))
}

/** Counts a try that is retried. */
export const countRetry = (model: ModelRef, reason: string): void =>
  retries.unsafeUpdate(1, ofModel("{retry}", model, "error.type", reason))

/** Counts the end of a request's wait. */
export const countWait = (milliseconds: number): void => requestWait.unsafeUpdate(milliseconds / 1000, none)

const none = labels("s")

/** The labels of each value of a key. */
const byValue = <Value extends string>(unit: string, key: string, ...values: ReadonlyArray<Value>) =>
  Object.fromEntries(values.map((value) => [value, labels(unit, key, value)])) as Record<Value, Labels>

const states = {
  ...byValue("{request}", "skein.state", "sent", "waiting"),
  ...byValue("{agent}", "skein.state", "running", "queued")
}
const ofTrees = labels("{tree}")
const ofTakeovers = byValue("s", "skein.cause", "died", "left", "moved")
const ofAsks = byValue("{question}", "skein.kind", "permission", "question")
const ofWaitingTrees = byValue("{tree}", "skein.state", "away", "stuck")
const ofServers = byValue("{server}", "skein.state", "alive", "silent", "dead")

/** Adjusts the number of requests in flight or waiting. */
export const changeRequests = (state: "sent" | "waiting", by: number): void => requests.unsafeUpdate(by, states[state])

/** Counts a tool call; `outcome` is `completed` or what went wrong. */
export const countCall = (tool: string, outcome: string, milliseconds: number): void =>
  toolDuration.unsafeUpdate(milliseconds / 1000, labels("s", "gen_ai.tool.name", tool, "skein.outcome", outcome))

/** Counts a settled run. */
export const countRun = (agent: string, outcome: string, milliseconds: number): void =>
  taskDuration.unsafeUpdate(milliseconds / 1000, labels("s", "gen_ai.agent.name", agent, "skein.outcome", outcome))

/** Adjusts the number of agents that work or wait. */
export const changeAgents = (state: "running" | "queued", by: number): void => agents.unsafeUpdate(by, states[state])

/** Adjusts the number of held trees. */
export const changeTrees = (by: number): void => trees.unsafeUpdate(by, ofTrees)

/** How many trees this process holds. */
export const heldTrees = (): number => trees.unsafeValue(ofTrees).count

/** Counts a tree that was lost to another process. */
export const countLost = (): void => leasesLost.unsafeUpdate(1, ofTrees)

/** Counts a tree that was taken up because its server died, left, or moved it. */
export const countTakeover = (why: "died" | "left" | "moved", milliseconds: number): void =>
  takeoverDuration.unsafeUpdate(milliseconds / 1000, ofTakeovers[why])

/** Sets the number of servers in a state. */
export const setServers = (state: "alive" | "silent" | "dead", count: number): void =>
  servers.unsafeUpdate(count, ofServers[state])

/** Counts a question to a person while an effect runs, which waits for the answer. */
export const whileAsked = <A, E, R>(kind: "permission" | "question", effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => asks.unsafeUpdate(1, ofAsks[kind])),
    () => effect,
    () => Effect.sync(() => asks.unsafeUpdate(-1, ofAsks[kind]))
  )

/** Sets how many trees nobody continues: they wait for a host, or cannot be continued. */
export const setWaitingTrees = (state: "away" | "stuck", count: number): void =>
  waitingTrees.unsafeUpdate(count, ofWaitingTrees[state])

/** What this process works on now, as far as the metrics tell. */
export const currentLoad = () => ({
  running: agents.unsafeValue(states.running).count,
  queued: agents.unsafeValue(states.queued).count,
  sent: requests.unsafeValue(states.sent).count,
  waiting: requests.unsafeValue(states.waiting).count,
  asking: asks.unsafeValue(ofAsks.permission).count + asks.unsafeValue(ofAsks.question).count,
  lost: leasesLost.unsafeValue(ofTrees).count,
  takeovers: takeoverDuration.unsafeValue(ofTakeovers.died).count,
  moves: takeoverDuration.unsafeValue(ofTakeovers.left).count + takeoverDuration.unsafeValue(ofTakeovers.moved).count
})
