/** Names of the app's own pages, and texts that several of them share, in each language. */

import type { Loose } from "../messages/en.ts"
import { type Language, useLocale } from "../messages/locale.tsx"

const en = {
  operations: "Operations",
  people: "People",
  jobs: "Jobs",
  webhooks: "Webhooks",
  mails: "Mail previews",
  users: "Users",
  account: "Your account",
  failedJobs: (count: string): string => `${count} failed`,
  disabledHooks: (count: string): string => `${count} disabled by the service`,
  close: "Close",
  more: "More",
  go: "Go on",
  older: "Older ones",
  delete: "Delete",
  save: "Save",
  done: "Done",
  shownOnce: "Shown only now",
  keepIt: "Copy it to a safe place. It cannot be shown again.",
  never: "never"
}

export type PlaceWords = Loose<typeof en>

const all: Readonly<Record<Language, PlaceWords>> = {
  en,
  de: {
    operations: "Betrieb",
    people: "Personen",
    jobs: "Jobs",
    webhooks: "Webhooks",
    mails: "E-Mail-Vorschau",
    users: "Konten",
    account: "Ihr Konto",
    failedJobs: (count) => `${count} fehlgeschlagen`,
    disabledHooks: (count) => `${count} vom Dienst deaktiviert`,
    close: "Schließen",
    more: "Mehr",
    go: "Weiter",
    older: "Ältere",
    delete: "Löschen",
    save: "Speichern",
    done: "Fertig",
    shownOnce: "Nur jetzt zu sehen",
    keepIt: "Kopieren Sie es an einen sicheren Ort. Es kann nicht noch einmal gezeigt werden.",
    never: "nie"
  },
  fr: {
    operations: "Exploitation",
    people: "Personnes",
    jobs: "Tâches",
    webhooks: "Webhooks",
    mails: "Aperçu des e-mails",
    users: "Comptes",
    account: "Votre compte",
    failedJobs: (count) => `${count} en échec`,
    disabledHooks: (count) => `${count} désactivés par le service`,
    close: "Fermer",
    more: "Plus",
    go: "Continuer",
    older: "Plus anciens",
    delete: "Supprimer",
    save: "Enregistrer",
    done: "Terminé",
    shownOnce: "Affiché une seule fois",
    keepIt: "Copiez-le en lieu sûr. Il ne pourra plus être affiché.",
    never: "jamais"
  },
  es: {
    operations: "Operaciones",
    people: "Personas",
    jobs: "Tareas",
    webhooks: "Webhooks",
    mails: "Vista previa de correos",
    users: "Cuentas",
    account: "Su cuenta",
    failedJobs: (count) => `${count} fallidas`,
    disabledHooks: (count) => `${count} desactivadas por el servicio`,
    close: "Cerrar",
    more: "Más",
    go: "Continuar",
    older: "Anteriores",
    delete: "Eliminar",
    save: "Guardar",
    done: "Listo",
    shownOnce: "Visible solo ahora",
    keepIt: "Cópielo en un lugar seguro. No se puede volver a mostrar.",
    never: "nunca"
  },
  ar: {
    operations: "التشغيل",
    people: "الأشخاص",
    jobs: "المهام",
    webhooks: "Webhooks",
    mails: "معاينة الرسائل",
    users: "الحسابات",
    account: "حسابك",
    failedJobs: (count) => `الفاشلة: ${count}`,
    disabledHooks: (count) => `عطّلت الخدمة: ${count}`,
    close: "إغلاق",
    more: "المزيد",
    go: "متابعة",
    older: "الأقدم",
    delete: "حذف",
    save: "حفظ",
    done: "تم",
    shownOnce: "يظهر الآن فقط",
    keepIt: "انسخه إلى مكان آمن. لا يمكن عرضه مرة أخرى.",
    never: "أبدًا"
  }
}

/** Picks the texts of the user's language. */
export const useWords = <Words>(languages: Readonly<Record<Language, Words>>): Words => languages[useLocale().language]

export const usePlaceWords = (): PlaceWords => useWords(all)
