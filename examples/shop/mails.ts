/** The mails that the shop sends. `service dev` shows each with its example at /-/mail. */

import { defineTemplate, html } from "resource-admin"

export const orderConfirmation = defineTemplate<
  { readonly order: string; readonly name: string; readonly total: string; readonly currency: string }
>({
  name: "order-confirmation",
  subject: ({ order }) => `Your order ${order}`,
  text: ({ currency, name, order, total }) =>
    `Dear ${name},\n\nthank you for order ${order}. It comes to ${total} ${currency}.\n\nYour furniture shop\n`,
  html: ({ currency, name, order, total }) =>
    html`<p>Dear ${name},</p><p>thank you for order <b>${order}</b>. It comes to ${total} ${currency}.</p><p>Your furniture shop</p>`,
  example: { order: "1042", name: "Ada & Sons <GmbH>", total: "1299.00", currency: "EUR" }
})

export const orderStatus = defineTemplate<{ readonly order: string; readonly name: string; readonly status: string }>({
  name: "order-status",
  subject: ({ order, status }) => `Order ${order} is ${status}`,
  text: ({ name, order, status }) => `Dear ${name},\n\nyour order ${order} is ${status} now.\n\nYour furniture shop\n`,
  example: { order: "1042", name: "Ada", status: "shipped" }
})

/** To the sales desk: what it is about, the order says itself. */
export const largeOrder = defineTemplate<{ readonly order: string; readonly name: string; readonly total: string }>({
  name: "large-order",
  subject: ({ order }) => `A large order: ${order}`,
  text: ({ name, order, total }) => `Order ${order} of ${name} comes to ${total}.\n`,
  example: { order: "1042", name: "Ada & Sons <GmbH>", total: "1299.00" }
})

export const nightlyReport = defineTemplate<
  { readonly day: string; readonly shops: ReadonlyArray<{ readonly name: string; readonly orders: string }> }
>({
  name: "nightly-report",
  subject: ({ day }) => `Orders of ${day}`,
  text: ({ day, shops }) => `Orders of ${day}\n\n${shops.map(({ name, orders }) => `${name}: ${orders}`).join("\n")}\n`,
  html: ({ day, shops }) =>
    html`<h1>Orders of ${day}</h1><ul>${shops.map(({ name, orders }) => html`<li>${name}: ${orders}</li>`)}</ul>`,
  example: { day: "2026-11-22", shops: [{ name: "Berlin", orders: "17" }, { name: "Hamburg", orders: "4" }] }
})
