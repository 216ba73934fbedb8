/** Menus, dialogs and popovers, drawn by React Aria. `parts.tsx` loads this file after the first page, and uses it. */

import type { ReactNode, RefObject } from "react"
import {
  Dialog as AriaDialog,
  Header,
  Heading,
  Menu as AriaMenu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  Popover,
  Separator
} from "react-aria-components"

/** The side of the button, and the aligned edge. */
export type Placement = "bottom start" | "bottom end" | "top" | "top start"

/** An entry of a menu: an action, a heading, or a separator. */
export type MenuEntry =
  | {
    readonly label: string
    readonly onAction?: () => void
    /** An address that opens in a new tab. */
    readonly href?: string
    readonly disabled?: boolean
    readonly danger?: boolean
    /** True for the current choice. */
    readonly chosen?: boolean
    /** The language of the label, if it differs from the app's. */
    readonly lang?: string
  }
  | { readonly section: string; readonly entries: readonly MenuEntry[] }
  | "line"

export interface DialogProps {
  readonly title: string
  /** A sentence below the title. */
  readonly text?: ReactNode
  readonly children?: ReactNode
  /** The buttons. */
  readonly footer?: ReactNode
  readonly onClose: () => void
  /** True if the dialog asks about an action that cannot be undone. */
  readonly alert?: boolean
  readonly className?: string
  /** False if only its buttons close it. */
  readonly dismissable?: boolean
}

/** Props that every popover needs from its button. */
interface Opened {
  readonly anchor: RefObject<HTMLElement | null>
  readonly onClose: () => void
}

const Entry = ({ entry }: { readonly entry: MenuEntry }): ReactNode => {
  if (entry === "line") return <Separator className="menu-line" />
  if ("entries" in entry) {
    return (
      <MenuSection>
        <Header className="menu-head">{entry.section}</Header>
        {entriesOf(entry.entries)}
      </MenuSection>
    )
  }
  const { chosen = false, danger = false, disabled = false, href, label, lang, onAction } = entry
  return (
    <MenuItem
      className={`menu-item ${danger ? "danger" : ""}`}
      textValue={label}
      isDisabled={disabled}
      {...(onAction === undefined ? {} : { onAction })}
      {...(href === undefined ? {} : { href, target: "_blank", rel: "noreferrer" })}
    >
      <span className="grow" lang={lang}>{label}</span>
      {chosen && <span aria-hidden="true">✓</span>}
    </MenuItem>
  )
}

// The index is the key, because two entries of a menu may have the same text.
const entriesOf = (entries: readonly MenuEntry[]): ReactNode =>
  entries.map((entry, at) => <Entry key={at} entry={entry} />)

/** The menu of a button. */
export const FloatingMenu = (
  { anchor, entries, label, onClose, placement = "bottom end" }: Opened & {
    readonly label: string
    readonly entries: readonly MenuEntry[]
    readonly placement?: Placement | undefined
  }
): ReactNode => (
  <Popover
    className="float"
    trigger="MenuTrigger"
    aria-label={label}
    triggerRef={anchor}
    placement={placement}
    offset={4}
    isOpen
    onOpenChange={(open) => !open && onClose()}
  >
    <AriaMenu className="menu" aria-label={label} autoFocus="first" onClose={onClose}>{entriesOf(entries)}</AriaMenu>
  </Popover>
)

/** A popover with any content. */
export const FloatingBox = (
  { anchor, boxClass = "", children, label, onClose, placement = "bottom end" }: Opened & {
    readonly label: string
    readonly children: ReactNode
    readonly placement?: Placement | undefined
    readonly boxClass?: string | undefined
  }
): ReactNode => (
  <Popover
    className={`float ${boxClass}`}
    trigger="DialogTrigger"
    triggerRef={anchor}
    placement={placement}
    offset={4}
    isOpen
    onOpenChange={(open) => !open && onClose()}
  >
    <AriaDialog aria-label={label}>{children}</AriaDialog>
  </Popover>
)

/** A modal dialog. */
export const ModalDialog = (
  { alert = false, children, className = "", dismissable = true, footer, onClose, text, title }: DialogProps
): ReactNode => (
  <ModalOverlay
    className="scrim"
    isOpen
    isDismissable={dismissable && !alert}
    isKeyboardDismissDisabled={!dismissable}
    onOpenChange={(open) => !open && onClose()}
  >
    <Modal className={`float dialog ${className}`}>
      <AriaDialog role={alert ? "alertdialog" : "dialog"}>
        <header>
          <Heading slot="title">{title}</Heading>
          {text !== undefined && <p>{text}</p>}
        </header>
        {children !== undefined && <div className="body">{children}</div>}
        {footer !== undefined && <footer>{footer}</footer>}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)
