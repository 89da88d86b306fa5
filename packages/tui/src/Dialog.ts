/** Decides what a person can choose from when an agent asks: for permission, or for something that it wants to know. */
import type { PermissionReply, PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import type { PartID, PermissionID } from "@skein/domain/Id"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"

/** A question that waits for a person. */
export type Dialog =
  | { readonly kind: "permission"; readonly request: PermissionRequest }
  | { readonly kind: "question"; readonly request: QuestionRequest }

/** A question that waits, as a dialog. */
export const dialogOf = (ask: PendingAsk): Dialog =>
  ask.type === "permission" ? { kind: "permission", request: ask } : { kind: "question", request: ask }

/** What a person answered. */
export type DialogReply =
  | {
    readonly kind: "permission"
    readonly id: PermissionID
    readonly reply: PermissionReply
    readonly scope: "tree" | "project"
    readonly message: string | undefined
  }
  | {
    readonly kind: "question"
    readonly id: PartID
    /** Undefined where the person does not want to answer. */
    readonly answers: readonly [string, ...ReadonlyArray<string>] | undefined
  }

/** What choosing does: it answers, opens a line to write in, or marks one of several options. */
type Act =
  | { readonly type: "reply"; readonly reply: DialogReply }
  | { readonly type: "write" }
  | { readonly type: "mark"; readonly option: number }
  | { readonly type: "send" }

/** One of the things to choose from. */
export interface Choice {
  readonly label: string
  readonly act: Act
}

const permissionChoices = ({ always, id, permission }: PermissionRequest): ReadonlyArray<Choice> => {
  const choice = (label: string, reply: PermissionReply, scope: "tree" | "project" = "tree"): Choice => ({
    label,
    act: { type: "reply", reply: { kind: "permission", id, reply, scope, message: undefined } }
  })
  const rules = always.map((pattern) => `${permission} ${pattern}`).join(", ")
  return [
    choice("Yes, this once", "once"),
    ...(always.length === 0 ? [] : [
      choice(`Yes, always in this session tree: ${rules}`, "always"),
      choice(`Yes, always in this project, in later sessions too: ${rules}`, "always", "project")
    ]),
    choice("No", "reject"),
    { label: "No, and write why: the agent reads it and continues", act: { type: "write" } }
  ]
}

const questionChoices = (
  { id, multiple, options }: QuestionRequest,
  marked: ReadonlySet<number>
): ReadonlyArray<Choice> => [
  ...options.map(({ description, label }, option): Choice => ({
    label: `${multiple ? marked.has(option) ? "[x] " : "[ ] " : ""}${label}${
      description === undefined ? "" : `: ${description}`
    }`,
    act: multiple ? { type: "mark", option } : { type: "reply", reply: { kind: "question", id, answers: [label] } }
  })),
  ...(multiple && options.length > 0 ? [{ label: "Send what is marked", act: { type: "send" } } as const] : []),
  { label: "Write an answer", act: { type: "write" } },
  { label: "No answer", act: { type: "reply", reply: { kind: "question", id, answers: undefined } } }
]

/** The choices; `marked` are the options that were marked so far, where several may be. */
export const choicesOf = (dialog: Dialog, marked: ReadonlySet<number>): ReadonlyArray<Choice> =>
  dialog.kind === "permission" ? permissionChoices(dialog.request) : questionChoices(dialog.request, marked)

/** The labels of the marked options, in their order. */
const markedLabels = ({ options }: QuestionRequest, marked: ReadonlySet<number>): ReadonlyArray<string> =>
  options.flatMap(({ label }, at) => marked.has(at) ? [label] : [])

/** The answer with what is marked; undefined where nothing is. */
export const ofMarks = (dialog: Dialog, marked: ReadonlySet<number>): DialogReply | undefined => {
  if (dialog.kind === "permission") return undefined
  const [first, ...rest] = markedLabels(dialog.request, marked)
  return first === undefined ? undefined : { kind: "question", id: dialog.request.id, answers: [first, ...rest] }
}

/** The answer with these words; undefined where it needs some. */
export const ofWords = (dialog: Dialog, words: string, marked: ReadonlySet<number>): DialogReply | undefined => {
  const said = words.trim()
  if (dialog.kind === "permission") {
    const message = said === "" ? undefined : said
    return { kind: "permission", id: dialog.request.id, reply: "reject", scope: "tree", message }
  }
  if (said === "") return undefined
  const [first = said, ...rest] = [...markedLabels(dialog.request, marked), said]
  return { kind: "question", id: dialog.request.id, answers: [first, ...rest] }
}

/** The answer if nobody is present. */
export const ofNobody = (dialog: Dialog): DialogReply =>
  dialog.kind === "question" ? { kind: "question", id: dialog.request.id, answers: undefined } : {
    kind: "permission",
    id: dialog.request.id,
    reply: "reject",
    scope: "tree",
    message: "Nobody can be asked: the terminal is closed."
  }
