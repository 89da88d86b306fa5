/** Asks a client for permission: what is shown, what can be chosen, and what a choice means. */
import type { PermissionOption, RequestPermissionRequest } from "@agentclientprotocol/sdk/unstable"
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { ToolPart } from "@skein/domain/Part"
import { visible, visibleLine } from "@skein/view/Visible"
import { askTitle, subjectOf } from "../encode/askTitle.ts"
import { callFields, fenced, kindOf, textContent } from "../encode/callUpdate.ts"
import { diffInRequest } from "../encode/diffOf.ts"
import type { PermissionAnswer } from "./answer.ts"

/** What a person chose. */
export interface Answer {
  readonly reply: PermissionReply
  readonly scope?: "tree" | "project"
}

const optionsOf = ({ always, permission }: PermissionRequest): Array<PermissionOption> => {
  const rules = visibleLine(always.map((pattern) => `${permission} ${pattern}`).join(", "))
  return [
    { optionId: "once", kind: "allow_once", name: "Allow once" },
    ...(always.length === 0 ? [] : [
      { optionId: "tree", kind: "allow_always", name: `Always allow in this session: ${rules}` },
      { optionId: "project", kind: "allow_always", name: `Always allow in this project: ${rules}` }
    ] satisfies Array<PermissionOption>),
    { optionId: "reject", kind: "reject_once", name: "Reject" }
  ]
}

/** The request; `call` is the one that asks, where it is known. */
export const permissionRequest = (
  request: PermissionRequest,
  call: ToolPart | undefined,
  session: string,
  directory: string
): RequestPermissionRequest => {
  const fields = call === undefined ? undefined : callFields(call, directory)
  const changes = diffInRequest(request.metadata, directory)
  const subject = subjectOf(request)
  const shown = changes.length > 0 ? changes : [textContent(fenced(visible(subject)))]
  return {
    sessionId: session,
    options: optionsOf(request),
    toolCall: {
      toolCallId: request.partID ?? request.id,
      title: askTitle({ kind: "permission", request }),
      kind: fields?.kind ?? kindOf(request.permission),
      status: "pending",
      content: shown,
      ...(fields?.locations === undefined ? {} : { locations: fields.locations }),
      ...(fields?.rawInput === undefined ? {} : { rawInput: fields.rawInput }),
      _meta: { "skein/path": [...request.path], "skein/permission": request.permission }
    }
  }
}

/** What the client's answer means; undefined if it is not among the options. A cancelled answer is a refusal. */
export const answerOf = (
  request: PermissionRequest,
  { outcome }: typeof PermissionAnswer.Type
): Answer | undefined => {
  if (outcome.outcome === "cancelled") return { reply: "reject" }
  const { optionId: chosen } = outcome
  if (!optionsOf(request).some(({ optionId }) => optionId === chosen)) return undefined
  if (chosen === "tree" || chosen === "project") return { reply: "always", scope: chosen }
  return { reply: chosen === "once" ? "once" : "reject" }
}
