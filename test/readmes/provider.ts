import * as OpenAiCompatible from "@skein/provider/OpenAiCompatible"

/** A custom server with OpenAI's protocol. */
export const local = OpenAiCompatible.layer({ id: "local", baseUrl: "http://127.0.0.1:8000/v1", model: "coder" })
