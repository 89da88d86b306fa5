/** Says why a client does not get what it asks for. */
import * as Schema from "effect/Schema"

/** The client can act on it: the message says what is wrong, and how to fix it. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** The same for an error of a service. */
export const refusedBy = ({ message }: { readonly message: string }): Refused => new Refused({ message })
