(() => {
  "use strict";
  const form = document.getElementById("filter");
  const { text, result } = form.elements;
  const output = form.querySelector("output");
  const items = [...document.querySelectorAll("[data-result]")].map((node) => ({ node, words: null }));
  const groups = [...document.querySelectorAll("[data-group]")];
  const details = [...document.querySelectorAll("details")];
  let opened = null;

  const matches = (item, words) => {
    if (result.value && item.node.dataset.result !== result.value) return false;
    if (words.length === 0) return true;
    item.words ??= item.node.textContent.toLowerCase();
    return words.every((word) => item.words.includes(word));
  };

  /* Sections are opened while there is a filter, and closed again behind it. */
  const openSections = (filtered) => {
    const sections = groups.filter((group) => group.tagName === "DETAILS");
    if (filtered) {
      opened ??= new Set(sections.filter((section) => section.open));
      for (const section of sections) section.open = !section.hidden;
    } else if (opened) {
      for (const section of sections) section.open = opened.has(section);
      opened = null;
    }
  };

  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const filtered = words.length > 0 || result.value !== "";
    const counts = new Map([["finding", 0], ["statement", 0], ["case", 0]]);
    for (const item of items) {
      const shown = matches(item, words);
      item.node.hidden = !shown;
      if (!shown) continue;
      for (const [name, count] of counts) {
        if (item.node.classList.contains(name)) counts.set(name, count + 1);
      }
    }
    for (const group of groups) group.hidden = !group.querySelector("[data-result]:not([hidden])");
    openSections(filtered);
    const names = { finding: "finding", statement: "requirement", case: "case" };
    const counted = ([name, count]) => `${count} ${names[name]}${count === 1 ? "" : "s"}`;
    const said = [...counts].filter(([, count]) => count > 0).map(counted);
    output.textContent = filtered ? said.join(", ") || "nothing is like that" : "";
  };

  /* Cases, sections and all that folds within them. With a filter, what it shows. */
  const setAll = (open) => {
    opened = null;
    for (const one of details) {
      if (!one.closest("[hidden]")) one.open = open;
    }
  };

  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) {
      form.reset();
      apply();
    }
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
  };

  let timer;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 150);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.open.addEventListener("click", () => setAll(true));
  form.elements.close.addEventListener("click", () => setAll(false));
  window.addEventListener("hashchange", reveal);
  form.hidden = false;
  reveal();
})();
