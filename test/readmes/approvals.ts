import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * Answers the questions of a tree: edits are allowed from now on, everything else is rejected with a message for the
 * model.
 */
export const editsOnly = ({ rootID }: SessionInfo) =>
  Effect.flatMap(Bus, (bus) => bus.subscribe({ rootID, deltas: false })).pipe(
    Stream.unwrapScoped,
    Stream.runForEach((event) => {
      if (event.type !== "permission.asked") return Effect.void
      const { id, permission } = event.properties
      return permission === "edit"
        ? Permission.reply(id, "always", { scope: "tree" })
        : Permission.reply(id, "reject", { message: `Nobody allows ${permission} here.` })
    })
  )

/** Revokes all approvals of a project, or of this tree in it. */
export const forget = ({ projectID, rootID }: SessionInfo) =>
  Effect.flatMap(Permission.approvals(projectID, rootID), (approvals) =>
    Effect.forEach(approvals, ({ id }) =>
      // Revoking one also revokes identical ones.
      Effect.catchTag(Permission.revoke(projectID, id), "PermissionNotFound", () => Effect.void)))
