import { Allow, Deny, Permission } from "@skein/core/Permission"
import type { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as Task from "@skein/core/Task"
import * as Tool from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Mcp from "@skein/mcp/Mcp"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as LayerMap from "effect/LayerMap"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

// 1. Ask an agent. Each outcome other than an answer is an error with a tag of its own.
export const entry = Task.ask("explore", "Where is the entry?").pipe(
  Effect.catchTag("BudgetExhausted", ({ text }) => Effect.succeed(text))
)

// 2. Ask for a value.
const Review = Schema.Struct({ file: Schema.String, problems: Schema.Array(Schema.String) })
export const review = Task.ask("explore", "Review bin.ts.", { output: Review, timeout: "5 minutes" })

// 3. Follow a turn, and the whole tree from any place of its log on.
export const told = (id: SessionID) =>
  Session.stream(id, "hi").pipe(
    Stream.map((event) => event.type === "message.part.delta" ? event.properties.delta : ""),
    Stream.runFold("", (text, more) => text + more)
  )
export const since = (id: SessionID, after: number) => Session.events(id, { after })

// 4. A tool with services and typed failures.
class Orders
  extends Context.Tag("Orders")<Orders, { readonly get: (id: string) => Effect.Effect<Order, OrderMissing> }>()
{}
class OrderMissing extends Schema.TaggedError<OrderMissing>()("OrderMissing", { message: Schema.String }) {}
const Order = Schema.Struct({ id: Schema.String, items: Schema.Number })
type Order = typeof Order.Type

const order = Tool.make("order", {
  description: "Looks up an order.",
  parameters: Schema.Struct({ id: Schema.String }),
  success: Order,
  failure: OrderMissing
})
export const tools = Tool.Tools.layer(order, ({ id }) => Effect.flatMap(Orders, (orders) => orders.get(id)))

// 5. A policy answers what the rules leave open.
class Policy extends Context.Tag("Policy")<Policy, { readonly allows: (pattern: string) => boolean }>() {}
export const permission = Permission.layer(({ patterns }) =>
  Effect.map(Policy, ({ allows }) => patterns.every(allows) ? Allow : Deny("The policy forbids it."))
)

const open = Tool.make("open", {
  description: "Opens a door.",
  parameters: Schema.Struct({ what: Schema.String }),
  asks: ({ what }) => what
})
export const opening = Tool.Tools.layer(open, ({ what }) => Effect.succeed(`open ${what}`))

// 6. A graph for each tenant.
export const tenants = (provider: Layer.Layer<Provider>) =>
  LayerMap.make((tenant: string) => Skein.layer({ provider, storage: Sqlite.layer({ filename: `${tenant}.db` }) }))

// 7. The tools of an MCP server.
export const calculating = (
  provider: Layer.Layer<Provider>,
  command: readonly [string, ...ReadonlyArray<string>] = ["node", "calc.mjs"]
) => Skein.layer({ provider, toolSource: Mcp.node({ calc: { command } }) })

// 8. Without Effect.
export const plain = async (provider: Layer.Layer<Provider>, signal: AbortSignal) => {
  const skein = await Skein.promise({ provider })
  const { id } = await skein.create({ directory: "." })
  for await (const event of skein.stream(id, "hi", { signal })) {
    if (event.type === "turn.ended") console.log(event.turn.text)
  }
  await skein.close()
}

// After a crash: continue what is unfinished.
export const resumed = Session.resumeAll
export { OrderMissing, Orders, Policy }
