// What viser's page cannot do by itself: see page_script in html_text.py, which calls this with the names it needs.
({ title, pixel, narrow, phone }) => {
  document.title = title;
  if (window.bdisIsReady) return;
  window.bdisIsReady = true;

  // A click on a picture writes its pixel into the text field, as if somebody had typed it.
  const field = () => document.evaluate(
    `//*[text()='${pixel}']/ancestor::*[.//input][1]//input`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE
  ).singleNodeValue;
  const enter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  document.addEventListener('click', ({ target, clientX, clientY }) => {
    const size = document.querySelector('[data-bdis-width]'), input = field();
    if (target.tagName !== 'IMG' || !target.src.startsWith('blob:') || !size || !input) return;
    const box = target.getBoundingClientRect();
    const at = (share, count) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    const x = at((clientX - box.left) / box.width, Number(size.dataset.bdisWidth));
    const y = at((clientY - box.top) / box.height, Number(size.dataset.bdisHeight));
    enter.call(input, `${x}, ${y} px`);
    input.dispatchEvent(new Event('input', { bubbles: true }));
  });

  const style = document.createElement('style');
  style.textContent = `
    img[src^='blob:'] { cursor: crosshair; }
    @media (min-width: 36em) { .${phone} { display: none; } }`; // narrower, viser hides the pictures behind a tab
  document.head.append(style);

  if (window.innerWidth < narrow) document.querySelector("[data-dock-region-collapse='right']")?.click();
}
