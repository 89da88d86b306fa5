/** What the conformance suite of MCP asks a server for by name: tools, prompts and resources of no other use. */
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  type JsonSchemaType,
  McpServer,
  type PrimitiveSchemaDefinition,
  ResourceTemplate,
  type ServerContext
} from "@modelcontextprotocol/server"
import type { McpService } from "@skein/mcp/McpService"
import * as Effect from "effect/Effect"
import { setTimeout as sleep } from "node:timers/promises"

/** A red pixel, and a sound of no length. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

/** Each has to be described. */
const about = { description: "For the conformance suite" }

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] })

const form = (name: string, type: "string" | "boolean", message: string) => {
  const property: PrimitiveSchemaDefinition = type === "string" ? { type } : { type }
  return inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [name]: property }, required: [name] }
  })
}

const sampling = (prompt: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens })

const codec = createRequestStateCodec<{ readonly step: number }>({ key: "the key of a fixture, 32 bytes long" })

/** An answer under a name, if it was given in the right form. */
const given = (context: ServerContext, key: string, name: string): unknown =>
  acceptedContent(context.mcpReq.inputResponses, key)?.[name]

const addTools = (server: McpServer): void => {
  server.registerTool("test_simple_text", about, () => text("This is a simple text response for testing."))
  server.registerTool("test_image_content", about, () => ({
    content: [{ type: "image", data: png, mimeType: "image/png" }]
  }))
  server.registerTool("test_audio_content", about, () => ({
    content: [{ type: "audio", data: wav, mimeType: "audio/wav" }]
  }))
  server.registerTool("test_embedded_resource", about, () => ({
    content: [{
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content."
      }
    }]
  }))
  server.registerTool("test_multiple_content_types", about, () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: png, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: "{\"test\":\"data\",\"value\":123}"
        }
      }
    ]
  }))
  server.registerTool("test_error_handling", about, () => {
    throw new Error("This tool intentionally returns an error for testing")
  })
  server.registerTool("test_tool_with_logging", about, async ({ mcpReq }) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", words)
      await sleep(50)
    }
    return text("Logged")
  })
  server.registerTool("test_tool_with_progress", about, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } })
      }
      await sleep(50)
    }
    return text("Done")
  })
  server.registerTool("json_schema_2020_12_tool", {
    ...about,
    inputSchema: fromJsonSchema({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } }
        }
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" }
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false
    })
  }, () => text("Kept"))
  server.registerTool(
    "test_custom_header",
    {
      ...about,
      inputSchema: fromJsonSchema<Record<string, string>>({
        type: "object",
        // The types of JSON Schema do not know this extension of it.
        properties: {
          region: { type: "string", "x-mcp-header": "Region" } as JsonSchemaType,
          query: { type: "string" }
        },
        required: ["region"]
      })
    },
    ({ region = "" }) => text(`In ${region}`)
  )
}

const one = (name: string) =>
  fromJsonSchema<Record<string, string>>({
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name]
  })

/** What clients of 2025 are asked by requests of the server. */
const addAsking = (server: McpServer): void => {
  const elicit = (name: string, properties: Record<string, PrimitiveSchemaDefinition>) =>
    server.registerTool(name, about, async ({ mcpReq }) => {
      const requestedSchema = { type: "object" as const, properties }
      const { action, content } = await mcpReq.elicitInput({ message: "Fill this in", requestedSchema })
      return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)
    })
  server.registerTool(
    "test_sampling",
    { ...about, inputSchema: one("prompt") },
    async ({ prompt = "" }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: "user", content: { type: "text", text: prompt } }],
        maxTokens: 100
      })
      return text(`LLM response: ${"text" in content ? content.text : ""}`)
    }
  )
  server.registerTool(
    "test_elicitation",
    { ...about, inputSchema: one("message") },
    async ({ message = "" }, { mcpReq }) => {
      const properties = { username: { type: "string" as const }, email: { type: "string" as const } }
      const requestedSchema = { type: "object" as const, properties, required: ["username", "email"] }
      const { action, content } = await mcpReq.elicitInput({ message, requestedSchema })
      return text(`User response: action=${action}, content=${JSON.stringify(content)}`)
    }
  )
  elicit("test_elicitation_sep1034_defaults", {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true }
  })
  const titled = ["value1", "value2", "value3"].map((value, at) => ({ const: value, title: `Option ${at + 1}` }))
  elicit("test_elicitation_sep1330_enums", {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled } }
  })
}

/** What clients of 2026-07-28 are asked by results that want the call again. */
const addRounds = (server: McpServer): void => {
  server.registerTool("test_input_required_result_elicitation", about, (context) => {
    const name = given(context, "user_name", "name")
    return typeof name === "string"
      ? text(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: form("name", "string", "What is your name?") } })
  })
  server.registerTool(
    "test_input_required_result_sampling",
    about,
    ({ mcpReq: { inputResponses } }) =>
      inputResponses?.["capital_question"] === undefined
        ? inputRequired({ inputRequests: { capital_question: sampling("What is the capital of France?", 100) } })
        : text(JSON.stringify(inputResponses["capital_question"]))
  )
  server.registerTool(
    "test_input_required_result_list_roots",
    about,
    ({ mcpReq: { inputResponses } }) =>
      inputResponses?.["client_roots"] === undefined
        ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
        : text(JSON.stringify(inputResponses["client_roots"]))
  )
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    server.registerTool(
      name,
      about,
      async (context) =>
        context.mcpReq.requestState() !== undefined && given(context, "confirm", "ok") !== undefined
          ? text("state-ok")
          : inputRequired({
            inputRequests: { confirm: form("ok", "boolean", "Please confirm") },
            requestState: await codec.mint({ step: 1 })
          })
    )
  }
  server.registerTool(
    "test_input_required_result_multiple_inputs",
    about,
    async ({ mcpReq: { inputResponses = {} } }) =>
      ["user_name", "greeting", "client_roots"].every((key) => inputResponses[key] !== undefined)
        ? text(JSON.stringify(inputResponses))
        : inputRequired({
          inputRequests: {
            user_name: form("name", "string", "What is your name?"),
            greeting: sampling("Generate a greeting", 50),
            client_roots: inputRequired.listRoots()
          },
          requestState: await codec.mint({ step: 1 })
        })
  )
  server.registerTool("test_input_required_result_multi_round", about, async (context) => {
    const step = context.mcpReq.requestState<{ readonly step: number }>()?.step ?? 0
    if (step === 2 && given(context, "step2", "color") !== undefined) return text("Both are known")
    return step === 1 && given(context, "step1", "name") !== undefined
      ? inputRequired({
        inputRequests: { step2: form("color", "string", "Step 2: What is your favorite color?") },
        requestState: await codec.mint({ step: 2 })
      })
      : inputRequired({
        inputRequests: { step1: form("name", "string", "Step 1: What is your name?") },
        requestState: await codec.mint({ step: 1 })
      })
  })
  server.registerTool("test_input_required_result_capabilities", about, ({ mcpReq: { envelope, inputResponses } }) => {
    const known = (envelope as Record<string, Record<string, unknown>> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ??
      {}
    return inputResponses === undefined
      ? inputRequired({
        inputRequests: {
          ...("elicitation" in known ? { name: form("name", "string", "What is your name?") } : {}),
          ...("sampling" in known ? { greeting: sampling("Generate a greeting", 50) } : {})
        },
        requestState: "none"
      })
      : text("Asked for what is known")
  })
}

/** What the scenario of requests without state asks for. */
const addStateless = (server: McpServer): void => {
  server.registerTool(
    "test_missing_capability",
    about,
    () => inputRequired({ inputRequests: { greeting: sampling("Generate a greeting", 50) } })
  )
  server.registerTool("test_logging_tool", about, async ({ mcpReq }) => {
    await mcpReq.log("info", "Logged where a level was asked for")
    return text("Logged")
  })
  server.registerTool("test_streaming_elicitation", about, async ({ mcpReq: { _meta, inputResponses, notify } }) => {
    await notify({
      method: "notifications/progress",
      params: { progressToken: _meta?.progressToken ?? "none", progress: 1 }
    })
    return inputResponses === undefined
      ? inputRequired({ inputRequests: { name: form("name", "string", "What is your name?") } })
      : text("Streamed")
  })
}

const addPrompts = (server: McpServer): void => {
  const said = (...content: ReadonlyArray<Record<string, unknown>>) => ({
    messages: content.map((each) => ({ role: "user" as const, content: each as never }))
  })
  server.registerPrompt(
    "test_simple_prompt",
    about,
    () => said({ type: "text", text: "This is a simple prompt for testing." })
  )
  server.registerPrompt("test_prompt_with_arguments", {
    ...about,
    argsSchema: fromJsonSchema<Record<string, string>>({
      type: "object",
      properties: { arg1: { type: "string" }, arg2: { type: "string" } },
      required: ["arg1", "arg2"]
    })
  }, ({ arg1, arg2 }) => said({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }))
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { ...about, argsSchema: one("resourceUri") },
    ({ resourceUri }) =>
      said(
        {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." }
        },
        { type: "text", text: "Please process the embedded resource above." }
      )
  )
  server.registerPrompt("test_prompt_with_image", about, () =>
    said(
      { type: "image", data: png, mimeType: "image/png" },
      { type: "text", text: "Please analyze the image above." }
    ))
  server.registerPrompt("test_input_required_result_prompt", about, (context) => {
    const named = given(context, "user_context", "context")
    return typeof named === "string"
      ? said({ type: "text", text: named })
      : inputRequired({
        inputRequests: { user_context: form("context", "string", "What context should the prompt use?") }
      })
  })
}

const addResources = (server: McpServer): void => {
  server.registerResource("static-text", "test://static-text", { mimeType: "text/plain" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }]
  }))
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: png }]
  }))
  server.registerResource("watched", "test://watched-resource", { mimeType: "text/plain" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "Watched" }]
  }))
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    ({ href: uri }, { id }) => ({
      contents: [{
        uri,
        mimeType: "application/json",
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` })
      }]
    })
  )
}

const make = (): McpServer => {
  const server = new McpServer({ name: "fixture", version: "1" }, {
    capabilities: { logging: {}, completions: {}, resources: { subscribe: true }, tools: {}, prompts: {} },
    requestState: {
      verify: (state, context) => state === "none" ? undefined : codec.verify(state, context)
    }
  })
  for (const add of [addTools, addAsking, addRounds, addStateless, addPrompts, addResources]) add(server)
  server.server.setRequestHandler("completion/complete", () => ({ completion: { values: [], hasMore: false } }))
  server.server.setRequestHandler("resources/subscribe", () => ({}))
  server.server.setRequestHandler("resources/unsubscribe", () => ({}))
  return server
}

/** The service. */
export const fixture: McpService = { open: () => Effect.succeed({ makeServer: make, resourcesChanged: Effect.never }) }
