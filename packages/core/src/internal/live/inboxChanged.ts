/** Tells people what waits for an agent at work, whenever that has changed. */
import type { MessageID } from "@skein/domain/Id"
import type * as Context from "effect/Context"
import type { Journal } from "../../Journal.ts"
import type { Entry } from "../../Write.ts"
import type { Live } from "./Live.ts"

/** What waits now. */
export const inboxChanged = (journal: Context.Tag.Service<Journal>, { inbox, info }: Live): Entry =>
  journal.fact(info, "inbox.updated", { waiting: inbox.announced })

/** The news that prompts wait no longer; nothing if nobody saw them waiting. */
export const noLongerWaiting = (
  journal: Context.Tag.Service<Journal>,
  live: Live,
  ids: ReadonlyArray<MessageID>
): ReadonlyArray<Entry> =>
  // Each has to be asked for: they wait no longer, whether or not one of them was seen.
  ids.filter((id) => live.inbox.unannounce(id)).length === 0 ? [] : [inboxChanged(journal, live)]
