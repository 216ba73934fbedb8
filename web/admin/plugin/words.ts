/** Texts of the pages of plugins, in each language. */

import type { Loose } from "../messages/en.ts"
import { type Language, useLocale } from "../messages/locale.tsx"

const en = {
  plugins: "Plugins",
  hint: "Plugins draw values, inputs and pages of this app. They run in your browser and can do what you can do.",
  none: "No plugin is listed. Name manifests in options.plugins or SERVICE_PLUGINS.",
  states: { loading: "Loading", listed: "Ready", loaded: "In use", failed: "Failed" },
  failures: {
    "unreachable": "Its manifest cannot be read.",
    "no-manifest": "Its manifest is not valid, or lacks name, version, module or integrity.",
    "elsewhere": "Its module is not in the folder of its manifest, so it was not loaded.",
    "wrong-integrity": "Its module is not there, or its digest is not the one in the manifest. It was not run.",
    "no-module": "Its module could not be run.",
    "no-plugin": "Its module has no default export of definePlugin.",
    "missing-part": "Its module lacks a part that its manifest lists.",
    "threw": "A part of it failed; the usual display stands there instead."
  },
  again: "Load the page again to try again.",
  provides: "Provides",
  pageFailed: "This page comes from a plugin that cannot be loaded.",
  confirm: "Yes",
  actionFailed: (name: string): string => `${name} failed.`
}

export type PluginWords = Loose<typeof en>

const all: Readonly<Record<Language, PluginWords>> = {
  en,
  de: {
    plugins: "Plugins",
    hint:
      "Plugins stellen Werte, Eingaben und Seiten dieser App dar. Sie laufen in Ihrem Browser und dürfen, was Sie dürfen.",
    none: "Es ist kein Plugin aufgeführt. Nennen Sie Manifeste in options.plugins oder SERVICE_PLUGINS.",
    states: { loading: "Lädt", listed: "Bereit", loaded: "In Gebrauch", failed: "Fehlgeschlagen" },
    failures: {
      "unreachable": "Sein Manifest kann nicht gelesen werden.",
      "no-manifest": "Sein Manifest ist ungültig, oder ihm fehlen name, version, module oder integrity.",
      "elsewhere": "Sein Modul liegt nicht im Ordner seines Manifests und wurde deshalb nicht geladen.",
      "wrong-integrity":
        "Sein Modul fehlt, oder seine Prüfsumme ist nicht die des Manifests. Es wurde nicht ausgeführt.",
      "no-module": "Sein Modul ließ sich nicht ausführen.",
      "no-plugin": "Sein Modul hat keinen Standardexport von definePlugin.",
      "missing-part": "Seinem Modul fehlt ein Teil, den sein Manifest aufführt.",
      "threw": "Ein Teil ist fehlgeschlagen; stattdessen steht dort die übliche Anzeige."
    },
    again: "Laden Sie die Seite neu, um es noch einmal zu versuchen.",
    provides: "Bietet",
    pageFailed: "Diese Seite kommt von einem Plugin, das nicht geladen werden kann.",
    confirm: "Ja",
    actionFailed: (name) => `${name} ist fehlgeschlagen.`
  },
  fr: {
    plugins: "Extensions",
    hint:
      "Les extensions affichent des valeurs, des champs et des pages. Elles s’exécutent dans votre navigateur et peuvent faire ce que vous pouvez faire.",
    none: "Aucune extension n’est déclarée. Nommez des manifestes dans options.plugins ou SERVICE_PLUGINS.",
    states: { loading: "Chargement", listed: "Prête", loaded: "Utilisée", failed: "En échec" },
    failures: {
      "unreachable": "Son manifeste ne peut pas être lu.",
      "no-manifest": "Son manifeste n’est pas valide, ou il y manque name, version, module ou integrity.",
      "elsewhere": "Son module n’est pas dans le dossier de son manifeste : il n’a pas été chargé.",
      "wrong-integrity":
        "Son module est absent, ou son empreinte n’est pas celle du manifeste. Il n’a pas été exécuté.",
      "no-module": "Son module n’a pas pu être exécuté.",
      "no-plugin": "Son module n’a pas d’export par défaut de definePlugin.",
      "missing-part": "Il manque à son module une partie que le manifeste annonce.",
      "threw": "Une de ses parties a échoué ; l’affichage habituel la remplace."
    },
    again: "Rechargez la page pour réessayer.",
    provides: "Fournit",
    pageFailed: "Cette page vient d’une extension qui ne peut pas être chargée.",
    confirm: "Oui",
    actionFailed: (name) => `Échec : ${name}.`
  },
  es: {
    plugins: "Complementos",
    hint:
      "Los complementos muestran valores, campos y páginas. Se ejecutan en su navegador y pueden hacer lo que usted puede hacer.",
    none: "No hay complementos. Nombre manifiestos en options.plugins o SERVICE_PLUGINS.",
    states: { loading: "Cargando", listed: "Listo", loaded: "En uso", failed: "Fallido" },
    failures: {
      "unreachable": "No se puede leer su manifiesto.",
      "no-manifest": "Su manifiesto no es válido, o le falta name, version, module o integrity.",
      "elsewhere": "Su módulo no está en la carpeta de su manifiesto, por lo que no se cargó.",
      "wrong-integrity": "Su módulo no existe, o su huella no es la del manifiesto. No se ejecutó.",
      "no-module": "No se pudo ejecutar su módulo.",
      "no-plugin": "Su módulo no tiene una exportación predeterminada de definePlugin.",
      "missing-part": "A su módulo le falta una parte que el manifiesto anuncia.",
      "threw": "Una de sus partes ha fallado; en su lugar está la vista habitual."
    },
    again: "Vuelva a cargar la página para intentarlo de nuevo.",
    provides: "Ofrece",
    pageFailed: "Esta página es de un complemento que no se puede cargar.",
    confirm: "Sí",
    actionFailed: (name) => `Falló: ${name}.`
  },
  ar: {
    plugins: "الإضافات",
    hint: "ترسم الإضافات قيم هذا التطبيق وحقوله وصفحاته. تعمل في متصفحك ويمكنها فعل ما يمكنك فعله.",
    none: "لا توجد إضافات. اذكر ملفات البيان في options.plugins أو SERVICE_PLUGINS.",
    states: { loading: "جارٍ التحميل", listed: "جاهزة", loaded: "مستخدمة", failed: "فشلت" },
    failures: {
      "unreachable": "تعذّرت قراءة ملف بيانها.",
      "no-manifest": "ملف بيانها غير صالح، أو ينقصه name أو version أو module أو integrity.",
      "elsewhere": "وحدتها ليست في مجلد ملف بيانها، لذلك لم تُحمَّل.",
      "wrong-integrity": "وحدتها غير موجودة، أو بصمتها ليست التي في ملف البيان. لم تُشغَّل.",
      "no-module": "تعذّر تشغيل وحدتها.",
      "no-plugin": "ليس لوحدتها تصدير افتراضي من definePlugin.",
      "missing-part": "ينقص وحدتها جزء يذكره ملف بيانها.",
      "threw": "فشل جزء منها؛ ويظهر مكانه العرض المعتاد."
    },
    again: "أعد تحميل الصفحة للمحاولة مرة أخرى.",
    provides: "توفّر",
    pageFailed: "هذه الصفحة من إضافة لا يمكن تحميلها.",
    confirm: "نعم",
    actionFailed: (name) => `فشل: ${name}.`
  }
}

export const usePluginWords = (): PluginWords => all[useLocale().language]
